// SPDX-License-Identifier: BSL-1.0
// Logic and bits against C++'s operators.
#include <kiln/ops/logical.hpp>

#include "battery.hpp"

using namespace battery;

TEST_CASE("logical ops: numbers are true where they are not zero, nan included") {
  auto both = [](auto a, auto b) { return a != 0 && b != 0; };
  auto any = [](auto a, auto b) { return a != 0 || b != 0; };
  auto one = [](auto a, auto b) { return (a != 0) != (b != 0); };
  check_integers<logical_and_op>([](auto a, auto b) { return logical_and(a, b); }, both);
  check_integers<logical_or_op>([](auto a, auto b) { return logical_or(a, b); }, any);
  check_integers<logical_xor_op>([](auto a, auto b) { return logical_xor(a, b); }, one);
  check_integers<logical_not_op>([](auto x) { return logical_not(x); }, [](auto x) { return x == 0; });
  const Tensor<float> x{0.0f, -0.0f, 0.5f, std::numeric_limits<float>::quiet_NaN()};
  const Tensor<bool> y = !x, z = logical_and(x, true);
  CHECK(y(0));
  CHECK(y(1));
  CHECK_FALSE(y(2));
  CHECK_FALSE(y(3));
  CHECK_FALSE(z(1));
  CHECK(z(3));
}

TEST_CASE("bitwise ops: every bit") {
  check_integers<bitwise_and_op>([](auto a, auto b) { return a & b; },
                                 []<class T>(T a, T b) { return static_cast<T>(a & b); });
  check_integers<bitwise_or_op>([](auto a, auto b) { return a | b; },
                                []<class T>(T a, T b) { return static_cast<T>(a | b); });
  check_integers<bitwise_xor_op>([](auto a, auto b) { return a ^ b; },
                                 []<class T>(T a, T b) { return static_cast<T>(a ^ b); });
  check_integers<bitwise_not_op>([](auto x) { return ~x; }, []<class T>(T x) { return static_cast<T>(~x); });
}

TEST_CASE("bitwise ops on bool: and, or, exclusive or, not") {
  const Tensor<bool> a{false, false, true, true}, b{false, true, false, true};
  const Tensor<bool> both = a & b, any = a | b, one = a ^ b, none = ~a;
  for (int i = 0; i < 4; ++i) {
    CHECK(both(i) == (a(i) && b(i)));
    CHECK(any(i) == (a(i) || b(i)));
    CHECK(one(i) == (a(i) != b(i)));
    CHECK(none(i) == !a(i));
  }
}

TEST_CASE("shifts: bits beyond the type are lost, the sign stays, any distance is defined") {
  // A distance outside [0, bits) moves every bit out, as PyTorch has it.
  auto left = []<class T>(T a, T b) {
    const int bits = static_cast<int>(8 * sizeof(T));
    if (b < 0 || static_cast<std::uint64_t>(b) >= static_cast<std::uint64_t>(bits)) return T(0);
    return static_cast<T>(static_cast<std::uint64_t>(a) << static_cast<int>(b));
  };
  auto right = []<class T>(T a, T b) {
    const int bits = static_cast<int>(8 * sizeof(T));
    if (b < 0 || static_cast<std::uint64_t>(b) >= static_cast<std::uint64_t>(bits))
      return static_cast<T>(a < 0 ? -1 : 0);
    return static_cast<T>(a >> static_cast<int>(b));
  };
  check_integers<left_shift_op>([](auto a, auto b) { return a << b; }, left);
  check_integers<right_shift_op>([](auto a, auto b) { return a >> b; }, right);
}
