// SPDX-License-Identifier: BSL-1.0
// Comparisons and predicates against C++'s own, for every element type.
#include <kiln/ops/comparison.hpp>

#include "battery.hpp"

#include <functional>

using namespace battery;

namespace {

template <class Op, class Call, class Oracle>
void check_comparison(Call call, Oracle oracle) {
  auto floats = [&]<class T>(std::type_identity<T>) {
    std::vector<T> xs, ys;
    simd_test::pairs<T>(xs, ys, -3, 3, -3, 3, 20);
    for (const std::size_t n : {xs.size(), std::size_t{1}, std::size_t{17}}) {
      const Tensor<T> x = tensor_of(xs.data(), n), y = tensor_of(ys.data(), n);
      const Tensor<bool> both = call(x, y), number = call(x, T(1)), flipped = call(T(1), x);
      int wrong = 0;
      for (std::size_t i = 0; i < n; ++i) {
        wrong += both.data()[i] != oracle(xs[i], ys[i]);
        wrong += number.data()[i] != oracle(xs[i], T(1));
        wrong += flipped.data()[i] != oracle(T(1), xs[i]);
      }
      CHECK_MESSAGE(wrong == 0, Op::name);
    }
  };
  floats(std::type_identity<float>{});
  floats(std::type_identity<double>{});
  check_integers<Op>(call, [&](auto a, auto b) { return oracle(a, b); });
  const Tensor<bool> a{false, false, true, true}, b{false, true, false, true};
  const Tensor<bool> y = call(a, b);
  for (int i = 0; i < 4; ++i) CHECK_MESSAGE(y(i) == oracle(a(i), b(i)), Op::name, " of bool");
}

template <class Op, class Call, class Oracle>
void check_predicate(Call call, Oracle oracle) {
  auto floats = [&]<class T>(std::type_identity<T>) {
    const std::vector<T> xs = simd_test::samples<T>(-3, 3, 40);
    const Tensor<bool> y = call(tensor_of(xs));
    int wrong = 0;
    for (std::size_t i = 0; i < xs.size(); ++i) wrong += y.data()[i] != oracle(xs[i]);
    CHECK_MESSAGE(wrong == 0, Op::name);
  };
  floats(std::type_identity<float>{});
  floats(std::type_identity<double>{});
  check_integers<Op>(call, [&](auto x) { return oracle(static_cast<double>(x)); });
}

}  // namespace

TEST_CASE("comparisons: are C++'s, false for nan but !=") {
  check_comparison<eq_op>([](auto a, auto b) { return a == b; }, std::equal_to<>{});
  check_comparison<ne_op>([](auto a, auto b) { return a != b; }, std::not_equal_to<>{});
  check_comparison<lt_op>([](auto a, auto b) { return a < b; }, std::less<>{});
  check_comparison<le_op>([](auto a, auto b) { return a <= b; }, std::less_equal<>{});
  check_comparison<gt_op>([](auto a, auto b) { return a > b; }, std::greater<>{});
  check_comparison<ge_op>([](auto a, auto b) { return a >= b; }, std::greater_equal<>{});
}

TEST_CASE("isnan, isinf, isfinite: are std's; integers are always finite") {
  check_predicate<isnan_op>([](auto x) { return isnan(x); }, [](auto x) { return std::isnan(x); });
  check_predicate<isinf_op>([](auto x) { return isinf(x); }, [](auto x) { return std::isinf(x); });
  check_predicate<isfinite_op>([](auto x) { return isfinite(x); }, [](auto x) { return std::isfinite(x); });
}

TEST_CASE("comparisons: do not pass gradients on") {
  const auto g = gradients_of<double>([](auto x) { return where(x > 0.5, x * 2.0, x); }, Tensor<double>{0.2, 0.7});
  CHECK(g == std::vector<double>{1, 2});
}

TEST_CASE("comparisons: a number that an integer type cannot hold is refused, and does not wrap around") {
  const Tensor<std::uint8_t> u{std::uint8_t{1}};
  const Tensor<std::int8_t> i{std::int8_t{1}};
  CHECK_THROWS_AS(static_cast<void>(u == 257), value_error);
  CHECK_THROWS_AS(static_cast<void>(u < -1), value_error);
  CHECK_THROWS_AS(static_cast<void>(u >= 256), value_error);
  CHECK_THROWS_AS(static_cast<void>(i < 200), value_error);
  CHECK_THROWS_AS(static_cast<void>(200 != i), value_error);
  CHECK_THROWS_AS(static_cast<void>(Tensor<int>{1} == std::int64_t{1} << 40), value_error);
  CHECK_THROWS_AS(static_cast<void>(Tensor<std::int64_t>{1} > ~std::uint64_t{0}), value_error);
  CHECK(evaluated(u == 1).item());
  CHECK(evaluated(u < 255).item());
  CHECK(evaluated(i > -128).item());
  CHECK(evaluated(cast<std::int64_t>(i) < 200).item());
  CHECK_FALSE(evaluated(u == 1.5).item());
}

TEST_CASE("comparisons: a half is compared with what the number is as a half") {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor<half> h{half(65504.0f), half(inf), half(2048.0f), half(0.1f), half(0.0f)};
  auto is = [](const Tensor<bool>& y, std::vector<int> want) {
    for (int k = 0; k < 5; ++k) CHECK(static_cast<int>(y(k)) == want[static_cast<std::size_t>(k)]);
  };
  is(h == 0.1, {0, 0, 0, 1, 0});
  is(h == 2049, {0, 0, 1, 0, 0});
  is(h == 65519.0, {1, 0, 0, 0, 0});
  is(h < 1e6, {1, 0, 1, 1, 1});
  is(h <= 1e-9, {0, 0, 0, 0, 1});
  CHECK(evaluated(Tensor<bfloat16>{bfloat16(0.1f)} == 0.1).item());
}
