// SPDX-License-Identifier: BSL-1.0
// Arithmetic of integers against arithmetic modulo 2^bits, and of bool.
#include <kiln/ops/arithmetic.hpp>

#include "battery.hpp"

#include <kiln/tensor/equal.hpp>

using namespace battery;

namespace {

// Wraps around: computed in unsigned 64 bits, whose low bits are those of the type.
template <class T>
T wrapped(std::uint64_t bits) {
  return static_cast<T>(bits);
}
template <class T>
std::uint64_t bits_of(T x) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
}

}  // namespace

TEST_CASE("sums, products and unary ops of integers wrap around") {
  check_integers<add_op>([](auto a, auto b) { return a + b; },
                         []<class T>(T a, T b) { return wrapped<T>(bits_of(a) + bits_of(b)); });
  check_integers<sub_op>([](auto a, auto b) { return a - b; },
                         []<class T>(T a, T b) { return wrapped<T>(bits_of(a) - bits_of(b)); });
  check_integers<mul_op>([](auto a, auto b) { return a * b; },
                         []<class T>(T a, T b) { return wrapped<T>(bits_of(a) * bits_of(b)); });
  check_integers<square_op>([](auto x) { return square(x); },
                            []<class T>(T x) { return wrapped<T>(bits_of(x) * bits_of(x)); });
  check_integers<neg_op>([](auto x) { return -x; }, []<class T>(T x) { return wrapped<T>(0 - bits_of(x)); });
  check_integers<abs_op>([](auto x) { return abs(x); },
                         []<class T>(T x) { return x < 0 ? wrapped<T>(0 - bits_of(x)) : x; });
}

TEST_CASE("/ of integers is the true quotient as float32: by zero inf or nan") {
  check_integers<div_op>([](auto a, auto b) { return where(isnan(a / b), -7.0f, a / b); },
                         [](auto a, auto b) {
                           const float q = static_cast<float>(a) / static_cast<float>(b);
                           return std::isnan(q) ? -7.0f : q;
                         });
  const Tensor<float> q = Tensor<int>{1, -1, 0} / Tensor<int>{0, 0, 0};
  CHECK(q(0) == std::numeric_limits<float>::infinity());
  CHECK(q(1) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(q(2)));
}

TEST_CASE("fmod, remainder of integers: exact; a divisor of zero is an error, wherever it stands") {
  auto wide = [](auto x) { return static_cast<std::int64_t>(x); };
  check_integers<fmod_op>([](auto a, auto b) { return fmod(a, b); },
                          [&]<class T>(T a, T b) { return wide(b) == -1 ? T(0) : static_cast<T>(wide(a) % wide(b)); },
                          false);
  check_integers<remainder_op>([](auto a, auto b) { return remainder(a, b); },
                               [&]<class T>(T a, T b) {
                                 if (wide(b) == -1) return T(0);
                                 const std::int64_t r = wide(a) % wide(b);
                                 return static_cast<T>(r != 0 && (r < 0) != (wide(b) < 0) ? r + wide(b) : r);
                               },
                               false);
  for (const std::size_t length : {std::size_t{1}, std::size_t{15}, std::size_t{17}, std::size_t{100}})
    for (std::size_t zero = 0; zero < length; zero += 7) {
      std::vector<int> divisors(length, 3);
      CHECK_NOTHROW(evaluated(fmod(tensor_of(divisors), tensor_of(divisors))));
      divisors[zero] = 0;
      const Tensor<int> x = tensor_of(std::vector<int>(length, 5)), y = tensor_of(divisors);
      CHECK_THROWS_WITH_AS(evaluated(fmod(x, y)), doctest::Contains("fmod: integer division by zero"), value_error);
      CHECK_THROWS_WITH_AS(evaluated(remainder(x, y)), doctest::Contains("remainder: integer division by zero"),
                           value_error);
    }
  CHECK_THROWS_AS(evaluated(fmod(Tensor<int>{1, 2}, 0)), value_error);
}

TEST_CASE("+ and * of bool are or and and") {
  const Tensor<bool> a{false, false, true, true}, b{false, true, false, true};
  const Tensor<bool> both = a * b, any = a + b;
  for (int i = 0; i < 4; ++i) {
    CHECK(both(i) == (a(i) && b(i)));
    CHECK(any(i) == (a(i) || b(i)));
  }
}

TEST_CASE("pow of integers: stays of the type and wraps around; negative powers have no fractions") {
  check_integers<pow_op>([](auto a, auto b) { return pow(a, b); },
                         []<class T>(T a, T b) {
                           if (b < T(0)) return a == T(1) ? T(1) : a == T(-1) ? T(b % 2 == 0 ? 1 : -1) : T(0);
                           std::uint64_t out = 1, base = bits_of(a);
                           for (auto rest = static_cast<std::uint64_t>(b); rest != 0; rest /= 2, base *= base)
                             if (rest % 2 == 1) out *= base;
                           return wrapped<T>(out);
                         });
  const Tensor<std::int64_t> y = pow(Tensor<std::int64_t>{3, -2, 10}, 3);
  CHECK(y(0) == 27);
  CHECK(y(1) == -8);
  CHECK(evaluated(pow(2, Tensor<std::int64_t>{40})).item() == std::int64_t{1} << 40);
  CHECK(evaluated(pow(Tensor<int>{2}, 0.5)).dtype() == dtype::float32);
  CHECK_THROWS_AS(pow(Tensor<int>{2}, -1), value_error);
}

TEST_CASE("%: the remainder with the divisor's sign, of integers and floats, tensors and numbers") {
  const auto whole = evaluated(Tensor<int>{-7, 7, -6} % 3);
  CHECK(equal(whole, Tensor<int>{2, 1, 0}));
  CHECK(equal(evaluated(5.5f % Tensor<float>{2, -2}), Tensor<float>{1.5f, -0.5f}));
  CHECK(equal(evaluated((Tensor<float>{-1, 4} + 1) % Tensor<float>{3, 3}), Tensor<float>{0, 2}));
}
