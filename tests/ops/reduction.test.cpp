// SPDX-License-Identifier: BSL-1.0
// Reductions against plain loops in more digits: every axis, rows that end inside a register, special values, ties.
#include <kiln/ops/reduction.hpp>

#include "battery.hpp"

#include <kiln/autograd/create_graph.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/equal.hpp>
#include <kiln/transform.hpp>

using namespace battery;

namespace {

// Values without pattern in [-1, 1].
template <class T>
Tensor<T> scattered(const dims& sizes, int seed = 0) {
  Tensor<T> x(new_tensor(dtype_of<T>, sizes));
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.data()[i] = static_cast<T>(std::sin(static_cast<double>(7 * i + 3 + seed) * 12.9898));
  return x;
}

// Folds a [rows, columns] tensor along the columns, the rows, or both, in long double.
template <class T, class Fold>
std::vector<long double> folded(const Tensor<T>& x, int axis, long double start, Fold fold) {
  const std::int64_t rows = x.size(0), columns = x.size(1);
  std::vector<long double> out(static_cast<std::size_t>(axis == 1 ? rows : axis == 0 ? columns : 1), start);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      long double& into = out[static_cast<std::size_t>(axis == 1 ? r : axis == 0 ? c : 0)];
      into = fold(into, static_cast<long double>(x(r, c)));
    }
  return out;
}

template <class T, class Call, class Fold>
void check_fold(std::string_view name, Call call, long double start, Fold fold, double tolerance) {
  for (std::int64_t columns : {1, 15, 16, 17, 100, 1000})
    for (int axis : {0, 1, -1}) {
      const Tensor<T> x = scattered<T>({7, columns});
      const auto got = axis < 0 ? evaluated(call(x, axes{})) : evaluated(call(x, axes(axis)));
      const auto want = folded(x, axis, start, fold);
      REQUIRE(got.numel() == static_cast<std::int64_t>(want.size()));
      long double worst = 0;
      for (std::size_t i = 0; i < want.size(); ++i)
        worst = std::max(worst, std::abs(static_cast<long double>(got.data()[i]) - want[i]));
      CHECK_MESSAGE(static_cast<double>(worst) <= tolerance, message(name, ", ", columns, " columns, axis ", axis));
    }
}

const double inf = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("sum, prod, max, min: along every axis, at every length") {
  REQUIRE(is_tested<sum_op>);
  REQUIRE(is_tested<prod_op>);
  REQUIRE(is_tested<max_op>);
  REQUIRE(is_tested<min_op>);
  auto add = [](long double a, long double b) { return a + b; };
  check_fold<float>(
      "sum", [](auto x, axes a) { return sum(x, a); }, 0, add, 1e-4);
  check_fold<double>(
      "sum", [](auto x, axes a) { return sum(x, a); }, 0, add, 1e-12);
  check_fold<float>(
      "prod", [](auto x, axes a) { return prod(x * 0.5f + 1.0f, a); }, 1,
      [](long double a, long double b) { return a * (b * 0.5L + 1); }, 1e-2);
  check_fold<double>(
      "max", [](auto x, axes a) { return max(x, a); }, -2, [](long double a, long double b) { return std::max(a, b); },
      0);
  check_fold<float>(
      "min", [](auto x, axes a) { return min(x, a); }, 2, [](long double a, long double b) { return std::min(a, b); },
      0);
}

TEST_CASE("sum of integers and bool counts in int64") {
  CHECK(evaluated(sum(Tensor<std::int8_t>{127, 127, 127})).item() == 381);
  CHECK(evaluated(sum(Tensor<std::uint8_t>{255, 255})).item() == 510);
  CHECK(evaluated(sum(Tensor<bool>{true, false, true})).item() == 2);
  CHECK(evaluated(prod(Tensor<int>{100000, 100000})).item() == 10000000000);
  CHECK(evaluated(max(Tensor<std::int8_t>{-128, 127})).item() == 127);
  CHECK(evaluated(min(Tensor<std::uint8_t>{200, 3, 255})).item() == 3);
}

TEST_CASE("sum of floats: hard cases lose little") {
  // A million times 0.1: one by one in float it is off by 100.
  const Tensor<float> tenths = tensor_of(std::vector<float>(1000000, 0.1f));
  CHECK(evaluated(sum(tenths)).item() == doctest::Approx(1000000 * static_cast<double>(0.1f)).epsilon(1e-6));
  std::vector<float> hard(4096, 1.0f);
  hard[0] = 16777216.0f;  // 2^24: adding 1 to it is lost, and one by one all of them, 2.4e-4 of the sum
  CHECK(evaluated(sum(tensor_of(hard))).item() == doctest::Approx(16777216.0 + 4095).epsilon(1e-5));
}

TEST_CASE("reductions: nan and infinities pass through") {
  for (std::size_t n : {std::size_t{3}, std::size_t{17}, std::size_t{1000}}) {
    std::vector<double> values(n, 1.0);
    values[n - 1] = not_a_number;
    CHECK(std::isnan(evaluated(max(tensor_of(values))).item()));
    CHECK(std::isnan(evaluated(min(tensor_of(values))).item()));
    CHECK(std::isnan(evaluated(sum(tensor_of(values))).item()));
    values[n - 1] = -inf;
    CHECK(evaluated(max(tensor_of(values))).item() == 1);
    CHECK(evaluated(min(tensor_of(values))).item() == -inf);
    CHECK(evaluated(sum(tensor_of(values))).item() == -inf);
  }
  CHECK(evaluated(max(Tensor<double>{-inf, -inf})).item() == -inf);
}

TEST_CASE("any, all: nan counts as true; of nothing they are false and true") {
  REQUIRE(is_tested<any_op>);
  REQUIRE(is_tested<all_op>);
  for (std::size_t n : {std::size_t{1}, std::size_t{16}, std::size_t{17}, std::size_t{1000}}) {
    std::vector<float> none(n, 0.0f), every(n, 2.0f);
    CHECK_FALSE(evaluated(any(tensor_of(none))).item());
    CHECK(evaluated(all(tensor_of(every))).item());
    none[n - 1] = std::numeric_limits<float>::quiet_NaN();
    every[n - 1] = 0;
    CHECK(evaluated(any(tensor_of(none))).item());
    CHECK_FALSE(evaluated(all(tensor_of(every))).item());
  }
  const Tensor<float> empty(new_tensor(dtype::float32, {0}));
  CHECK_FALSE(evaluated(any(empty)).item());
  CHECK(evaluated(all(empty)).item());
  const Tensor<bool> b = any(Tensor<bool>{{true, false}, {false, false}}, 1);
  CHECK(b(0));
  CHECK_FALSE(b(1));
}

TEST_CASE("reductions of nothing: the neutral element, or an error where there is none") {
  const Tensor<float> empty(new_tensor(dtype::float32, {0, 3}));
  CHECK(evaluated(sum(empty)).item() == 0);
  CHECK(evaluated(prod(empty)).item() == 1);
  CHECK(evaluated(sum(empty, 0)).sizes() == dims{3});
  CHECK(evaluated(sum(empty, 1)).numel() == 0);
  CHECK(std::isnan(evaluated(mean(empty)).item()));
  CHECK_THROWS_WITH_AS(evaluated(max(empty)), doctest::Contains("max"), value_error);
  CHECK_THROWS_AS(evaluated(min(empty, 0)), value_error);
  CHECK(evaluated(max(empty, 1)).numel() == 0);  // no rows: nothing is asked for
}

TEST_CASE("reductions: gradients along every axis") {
  const Tensor<double> x = scattered<double>({3, 5});
  auto agrees = [&](auto f) {
    const auto check = check_gradient(f, x);
    CHECK_MESSAGE(check.agrees, check.text);
  };
  agrees([](auto v) { return sum(v * v); });
  agrees([](auto v) { return sum(exp(v), 0); });
  agrees([](auto v) { return sum(exp(v), 1, true) * v; });
  agrees([](auto v) { return prod(v, 1); });
  agrees([](auto v) { return prod(v); });
  agrees([](auto v) { return max(v, 0); });
  agrees([](auto v) { return min(v, 1); });
}

TEST_CASE("reductions: equal extremes share the gradient; at a zero of a product it is the product of the rest") {
  CHECK(gradients_of<double>([](auto x) { return max(x); }, Tensor<double>{2.0, 5.0, 5.0, 1.0}) ==
        std::vector<double>{0, 0.5, 0.5, 0});
  CHECK(gradients_of<double>([](auto x) { return min(x); }, Tensor<double>{1.0, 5.0, 1.0, 1.0})[0] ==
        doctest::Approx(1.0 / 3));
  CHECK(gradients_of<double>([](auto x) { return prod(x); }, Tensor<double>{2.0, 0.0, 3.0}) ==
        std::vector<double>{0, 6, 0});
  CHECK(gradients_of<double>([](auto x) { return prod(x); }, Tensor<double>{0.0, 0.0, 3.0}) ==
        std::vector<double>{0, 0, 0});
}

TEST_CASE("max, min: over an expression of half type, the gradient goes to what rounds to the result") {
  auto check = [](auto zero) {
    using T = decltype(zero);
    const Tensor<T> at{T(1.0f), T(2.0f), T(-3.0f), T(2.0f)};
    auto g = [&](auto f) {
      Tensor<T> x = at.clone();
      x.requires_grad();
      backward(Tensor<T>(f(x)));
      return std::vector<float>{x.grad()(0), x.grad()(1), x.grad()(2), x.grad()(3)};
    };
    const float by = static_cast<float>(T(0.55f));
    CHECK(g([](auto x) { return max(x * 1.1); }) == std::vector<float>{0, by, 0, by});
    CHECK(g([](auto x) { return min(x * x - x * 0.3); })[0] == doctest::Approx(1.7).epsilon(0.01));
    CHECK(g([](auto x) { return max(x * x * 0.3); })[2] == doctest::Approx(-1.8).epsilon(0.01));
    // Different as floats, equal as halves.
    CHECK(g([](auto x) { return max(where(x > 0, x * 0.0001 + 1.0, 0)); })[1] > 0);
  };
  check(half(0.0f));
  check(bfloat16(0.0f));
}

TEST_CASE("prod: where the product over- or underflows, the gradient is right; with an infinity or a nan, PyTorch's") {
  const float infinite = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();
  auto g = [](std::vector<float> at) { return gradients_of<float>([](auto x) { return prod(x); }, tensor_of(at)); };
  auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      CHECK_MESSAGE((a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::abs(a[i] / b[i] - 1) < 2e-7f), i,
                    ": ", a[i], " is not ", b[i]);
  };
  same(g({1e30f, 1e30f, 2}), {2e30f, 2e30f, infinite});    // PyTorch: inf, inf, inf
  same(g({1e-30f, 1e-30f, 2}), {2e-30f, 2e-30f, 0});  // PyTorch: 0, 0, 0
  same(g({none, 1, 2}), {none, none, none});
  same(g({infinite, 2}), {none, infinite});
  same(g({0, 1e30f, 1e30f}), {infinite, 0, 0});
  same(g({0, infinite, 2}), {infinite, 0, none});
  same(g({0, none, 2}), {none, 0, none});
  same(g({0, 3, 2}), {6, 0, 0});
  same(g({0, 0, 2}), {0, 0, 0});
}

TEST_CASE("prod: no partial product of a gradient over- or underflows; derivatives of derivatives at zeros") {
  auto g = [](std::vector<double> at) { return gradients_of<double>([](auto x) { return prod(x); }, tensor_of(at)); };
  auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      CHECK_MESSAGE((a[i] == b[i] || std::abs(a[i] / b[i] - 1) < 1e-14), i, ": ", a[i], " is not ", b[i]);
  };
  near(g({1e200, 0, 1e200, 1e-300}), {0, 1e100, 0, 0});
  near(g({1e200, 1e200, 0, 1e-300}), {0, 0, 1e100, 0});
  near(g({1e200, 1e200, 1e-300}), {1e-100, 1e-100, inf});
  near(g({1e-200, 3, -1e-200, 1e300}), {-3e100, -1e-100, 3e100, 0});
  near(g({1e308, 1e308, 1e308, 0}), {0, 0, 0, inf});
  near(g({5e-324, 1e300, 3}), {3e300, 3 * 5e-324, 5e-324 * 1e300});
  // 64 huge and 64 tiny elements, and a zero.
  std::vector<double> many(128, 1e250), want(129, 0.0);
  std::fill(many.begin() + 64, many.end(), 1e-250);
  many.push_back(0), want[128] = 1;
  CHECK(g(many)[128] == doctest::Approx(1).epsilon(1e-12));
  CHECK(g(many)[0] == 0);
  // The second derivative by two elements is the product of the rest, also where one or both are 0.
  const auto second = [](const Tensor<double>& at) { return hessian([](const auto& v) { return prod(v); })(at); };
  CHECK(equal(second({0.0, 2.0, 3.0}), Tensor<double>{{0, 3, 2}, {3, 0, 0}, {2, 0, 0}}));
  CHECK(equal(second({0.0, 0.0, 3.0}), Tensor<double>{{0, 3, 0}, {3, 0, 0}, {0, 0, 0}}));
  CHECK(equal(second({0.0, 0.0, 0.0}), zeros<double>({3, 3})));
  CHECK(allclose(second({4.0, 2.0, 3.0}), Tensor<double>{{0, 3, 2}, {3, 0, 4}, {2, 4, 0}}, 1e-14));
}

TEST_CASE("mean: a division, so that of equal numbers it is that number") {
  for (std::int64_t n : {3, 7, 41, 49, 1000})
    CHECK(evaluated(mean(tensor_of(std::vector<float>(static_cast<std::size_t>(n), 1.0f)))).item() == 1);
}
