// SPDX-License-Identifier: BSL-1.0
// Casts between all element types, and the ops that only pass values on.
#include <kiln/ops/cast.hpp>

#include "battery.hpp"

using namespace battery;

namespace {

// C++'s conversion, where it is defined.
template <class To, class From>
To converted_by_cpp(From x) {
  if constexpr (std::is_same_v<To, bool>)
    return static_cast<compute_t<From>>(x) != compute_t<From>(0);
  else
    return static_cast<To>(static_cast<compute_t<From>>(x));
}

template <class From, class... To>
void check_casts_from(std::type_identity<To>...) {
  const std::vector<int> some{0, 1, 2, 3, 7, 100, 127};
  auto to = [&]<class T>(std::type_identity<T>) {
    for (std::size_t n : {some.size() * 1, some.size() * 30}) {
      std::vector<From> from;
      for (std::size_t i = 0; i < n; ++i) from.push_back(converted_by_cpp<From>(some[i % some.size()]));
      // reserve() aside, std::vector<bool> has no data(): fill the tensor by hand.
      Tensor<From> x(new_tensor(dtype_of<From>, {static_cast<std::int64_t>(n)}));
      for (std::size_t i = 0; i < n; ++i) x.data()[i] = from[i];
      const Tensor<T> y = detail::untracked(cast<T>(x));
      int wrong = 0;
      for (std::size_t i = 0; i < n; ++i)
        wrong += static_cast<double>(static_cast<compute_t<T>>(y.data()[i])) !=
                 static_cast<double>(static_cast<compute_t<T>>(converted_by_cpp<T>(static_cast<From>(from[i]))));
      CHECK_MESSAGE(wrong == 0, message(name(dtype_of<From>), " to ", name(dtype_of<T>)));
    }
  };
  (to(std::type_identity<To>{}), ...);
}

template <class... T>
void check_all_casts(std::type_identity<T>... types) {
  (check_casts_from<T>(types...), ...);
}

}  // namespace

TEST_CASE("cast: every type to every type") {
  REQUIRE(is_tested<cast_op>);
  check_all_casts(std::type_identity<bool>{}, std::type_identity<std::uint8_t>{}, std::type_identity<std::int8_t>{},
                  std::type_identity<std::int32_t>{}, std::type_identity<std::int64_t>{}, std::type_identity<half>{},
                  std::type_identity<bfloat16>{}, std::type_identity<float>{}, std::type_identity<double>{});
}

TEST_CASE("cast: fractions are dropped toward zero, nan is true, doubles round to nearest") {
  const Tensor<int> i = cast<int>(Tensor<float>{2.9f, -2.9f, 0.99f});
  CHECK(i(0) == 2);
  CHECK(i(1) == -2);
  CHECK(i(2) == 0);
  const Tensor<bool> b = cast<bool>(Tensor<float>{0.0f, -0.0f, 0.1f, std::numeric_limits<float>::quiet_NaN()});
  CHECK_FALSE(b(0));
  CHECK_FALSE(b(1));
  CHECK(b(2));
  CHECK(b(3));
  CHECK(evaluated(cast<float>(Tensor<double>{0.1}))(0) == 0.1f);
  CHECK(evaluated(cast<float>(Tensor<double>{1e300}))(0) == std::numeric_limits<float>::infinity());
}

TEST_CASE("cast: integers that do not fit wrap around") {
  const Tensor<std::int64_t> x{
      300, -129, 255, (std::int64_t{1} << 40) + 5, -1, std::numeric_limits<std::int64_t>::min()};
  const auto check = [&]<class To>(std::type_identity<To>) {
    const Tensor<To> y = evaluated(cast<To>(x));
    for (int i = 0; i < 6; ++i) CHECK(y(i) == static_cast<To>(static_cast<std::uint64_t>(x(i))));  // modulo 2^n
  };
  check(std::type_identity<std::uint8_t>{});
  check(std::type_identity<std::int8_t>{});
  check(std::type_identity<std::int32_t>{});
  // A sum is written into its own type, and stays in it.
  Tensor<std::uint8_t> small{200, 100};
  small += Tensor<std::uint8_t>{100, 100};
  CHECK((small(0) == 44 && small(1) == 200));
}

TEST_CASE("cast: within one expression half types keep the range and precision of float; a tensor has their own") {
  const Tensor<half> x{half(60000.0f), half(1.0f)};
  CHECK(Tensor<float>(cast<float>(x * 2))(0) == 120000);
  CHECK(std::isinf(Tensor<float>(cast<float>((x * 2).eval()))(0)));
  CHECK(std::isinf(Tensor<float>(cast<float>(cast<half>(cast<float>(x) * 2)))(0)));
  const Tensor<bfloat16> y{bfloat16(256.0f)};
  CHECK(Tensor<float>(cast<float>((y + 1) - 256))(0) == 1);
  CHECK(Tensor<float>(cast<float>((y + 1).eval() - 256))(0) == 0);
}
TEST_CASE("cast: through a half type and back rounds in the middle of an expression") {
  const Tensor<float> x{1.0009765625f / 3, 2049.0f};
  const Tensor<float> y = cast<float>(cast<half>(x)) + 0.0f, z = cast<float>(cast<bfloat16>(x)) + 0.0f;
  for (int i = 0; i < 2; ++i) {
    CHECK(y(i) == static_cast<float>(half(x(i))));
    CHECK(z(i) == static_cast<float>(bfloat16(x(i))));
  }
}

TEST_CASE("cast: the gradient comes back in the type of the operand; none through integers") {
  const auto check = check_gradient([](auto x) { return cast<double>(cast<float>(x)) * 3.0; },
                                    gradient_check_options{.eps = 0.5, .rtol = 1e-5}, Tensor<double>{1.0, 2.0});
  CHECK_MESSAGE(check.agrees, check.text);
  Tensor<float> x{1.5f, 2.5f};
  x.requires_grad();
  const Tensor<double> y = cast<double>(x) * 0.1 + cast<double>(cast<int>(x));
  backward(y, Tensor<double>{1.0, 2.0});
  CHECK(x.grad()(0) == 0.1f);
  CHECK(x.grad()(1) == 0.2f);
}

TEST_CASE("clone and stop_gradient: the values themselves") {
  check_unary<clone_op>([](auto x) { return apply<clone_op>(x); }, [](auto x) { return x; }, exactly());
  REQUIRE(is_tested<stop_gradient_op>);
  check_values<float>(
      "stop_gradient", [](auto x) { return stop_gradient(x); }, [](auto x) { return x; }, exactly(), {});
  CHECK(gradients_of<double>([](auto x) { return stop_gradient(x * 5.0) * x; }, Tensor<double>{2.0}) ==
        std::vector<double>{10});
}

TEST_CASE("cast: negative and huge numbers to uint8 are the low bits of a 64-bit integer, as in PyTorch") {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> at{-1,  -1.5, 300,          -300,         1e10 + 7,      -1e10 - 7, 1e20, -1e20,
                               inf, -inf, std::nan(""), 4294967301.0, -2147483651.0, 255.9,     0,    128};
  const std::vector<int> want{255, 255, 44, 212, 7, 249, 0, 0, 0, 0, 0, 5, 253, 255, 0, 128};
  const Tensor<std::uint8_t> y = cast<std::uint8_t>(tensor_of(at));
  for (std::size_t i = 0; i < at.size(); ++i)
    CHECK_MESSAGE(static_cast<int>(y.data()[i]) == want[i], at[i], " became ", static_cast<int>(y.data()[i]));
  const Tensor<std::uint8_t> small = cast<std::uint8_t>(Tensor<float>{-1.0f, 4294967296.0f * 3 + 1024, 77.7f});
  CHECK(static_cast<int>(small(0)) == 255);
  CHECK(static_cast<int>(small(1)) == 0);
  CHECK(static_cast<int>(small(2)) == 77);
}
