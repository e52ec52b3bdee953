// SPDX-License-Identifier: BSL-1.0
// minimum, maximum, clamp and lerp: values, nan, ties.
#include <kiln/ops/selection.hpp>

#include "battery.hpp"

using namespace battery;

namespace {

const limits_of_error same{.sign_of_zero = false};  // which of two zeros is chosen is not said

// Three operands, of which the oracle knows the answer; over all triples of a few values.
template <class T, class Call, class Oracle>
void check_triples(Call call, Oracle oracle, double ulps) {
  const T inf = std::numeric_limits<T>::infinity();
  const std::vector<T> some{T(0),     T(-0.0), T(1), T(-1), T(0.3),
                            T(-2.75), T(1e10), inf,  -inf,  std::numeric_limits<T>::quiet_NaN()};
  std::vector<T> xs, ys, zs;
  for (T x : some)
    for (T y : some)
      for (T z : some) xs.push_back(x), ys.push_back(y), zs.push_back(z);
  const Tensor<T> got = call(tensor_of(xs), tensor_of(ys), tensor_of(zs));
  for (std::size_t i = 0; i < xs.size(); ++i) {
    using R = exact_type<T>;
    const double error = error_of<T>(got.data()[i], oracle(R(xs[i]), R(ys[i]), R(zs[i])), R(0), same);
    CHECK_MESSAGE(error <= ulps, xs[i], ", ", ys[i], ", ", zs[i], " gives ", got.data()[i], ", ", error, " ulp off");
  }
}

}  // namespace

TEST_CASE("minimum, maximum: nan if either is; gradient to the one chosen") {
  auto least = [](auto a, auto b) { return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? a : b; };
  auto greatest = [](auto a, auto b) { return std::isnan(a) ? a : std::isnan(b) ? b : a > b ? a : b; };
  check_binary<minimum_op>([](auto a, auto b) { return minimum(a, b); }, least, same, {}, {-20, 20, -1.7, 2.1});
  check_binary<maximum_op>([](auto a, auto b) { return maximum(a, b); }, greatest, same, {}, {-20, 20, -1.7, 2.1});
  check_integers<minimum_op>([](auto a, auto b) { return minimum(a, b); },
                             [](auto a, auto b) { return a < b ? a : b; });
  check_integers<maximum_op>([](auto a, auto b) { return maximum(a, b); },
                             [](auto a, auto b) { return a > b ? a : b; });
}

TEST_CASE("minimum, maximum: equal values share the gradient") {
  const Tensor<double> a{1.0, 2.0, 3.0}, b{1.0, 1.0, 4.0};
  CHECK(gradients_of<double>([](auto x, auto y) { return maximum(x, y); }, a.clone(), b.clone()) ==
        std::vector<double>{0.5, 1, 0, 0.5, 0, 1});
  CHECK(gradients_of<double>([](auto x, auto y) { return minimum(x, y); }, a.clone(), b.clone()) ==
        std::vector<double>{0.5, 0, 1, 0.5, 1, 0});
}

TEST_CASE("clamp: the upper limit wins, nan stays; limits may be numbers") {
  REQUIRE(is_tested<clamp_op>);
  auto oracle = [](auto x, auto low, auto high) {
    if (std::isnan(x) || std::isnan(low) || std::isnan(high)) return x + low + high + std::nan("");
    return std::min(std::max(x, low), high);
  };
  check_triples<float>([](auto x, auto l, auto h) { return clamp(x, l, h); }, oracle, 0);
  check_triples<double>([](auto x, auto l, auto h) { return clamp(x, l, h); }, oracle, 0);
  const Tensor<int> k = clamp(Tensor<int>{-5, 0, 5}, -1, 3);
  CHECK(k(0) == -1);
  CHECK(k(1) == 0);
  CHECK(k(2) == 3);
}

TEST_CASE("clamp: the gradient passes inside, not at limits that are numbers, and reaches the limits outside") {
  const auto check = check_gradient([](auto x, auto l, auto h) { return clamp(x, l, h); },
                                    Tensor<double>{-3.0, 0.5, 7.0}, Tensor<double>{-1.0}, Tensor<double>{2.0});
  CHECK_MESSAGE(check.agrees, check.text);
  CHECK(gradients_of<double>([](auto x) { return clamp(x, -1, 1); }, Tensor<double>{-1.0, 1.0, 1.5, -2.0, 0.0}) ==
        std::vector<double>{0, 0, 0, 0, 1});  // torch 2.15
  // Of a number and a tensor, each by its own rule.
  CHECK(gradients_of<double>([](auto x, auto h) { return clamp(x, -1, h); }, Tensor<double>{-1.0, 1.0, 0.5},
                             Tensor<double>{1.0, 1.0, 1.0}) == std::vector<double>{0, 0.5, 1, 0, 0.5, 0});
}

TEST_CASE("lerp: exact at both ends, and near a + w (b - a) between") {
  REQUIRE(is_tested<lerp_op>);
  // Infinite ends give nan where infinity meets infinity, so the oracle walks from the same end.
  auto oracle = [](auto a, auto b, auto w) { return std::abs(w) < 0.5 ? a + w * (b - a) : b - (b - a) * (1 - w); };
  check_triples<float>([](auto a, auto b, auto w) { return lerp(a, b, w); }, oracle, 4);
  check_triples<double>([](auto a, auto b, auto w) { return lerp(a, b, w); }, oracle, 4);
  for (float a : {0.1f, -7.3f, 1e30f})
    for (float b : {0.7f, 3e-20f, -5.0f}) {
      const Tensor<float> y = lerp(Tensor<float>{a, a}, Tensor<float>{b, b}, Tensor<float>{0.0f, 1.0f});
      CHECK(y(0) == a);
      CHECK(y(1) == b);
    }
  const auto check =
      check_gradient([](auto a, auto b, auto w) { return lerp(a, b, w); }, Tensor<double>{1.0, -2.0, 0.5},
                     Tensor<double>{3.0, 0.5, 0.25}, Tensor<double>{0.2, 0.9, 0.5});
  CHECK_MESSAGE(check.agrees, check.text);
  CHECK(std::isnan(evaluated(lerp(Tensor<double>{std::nan("")}, 1.0, 0.5))(0)));
}

TEST_CASE("minimum, maximum, clamp: gradients beside nans, and at bounds that are tensors, are PyTorch's") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Tensor<double> a{none, 1.0, none}, b{1.0, none, none};
  const std::vector<double> all(6, 1);
  CHECK(gradients_of<double>([](auto x, auto y) { return maximum(x, y); }, a.clone(), b.clone()) == all);
  CHECK(gradients_of<double>([](auto x, auto y) { return minimum(x, y); }, a.clone(), b.clone()) == all);
  // x, low, high, and the gradients of each (torch 2.15, torch.clamp).
  struct row {
    double x, low, high, of_x, of_low, of_high;
  };
  const std::vector<row> rows{
      {1, 1, 1, 1, 0, 0},          {1, 1, 2, 0.5, 0.5, 0},   {1, 2, 1, 0, 0, 1},       {1, 2, 2, 0, 1, 0},
      {1, 2, 3, 0, 1, 0},          {1, 3, 2, 0, 0, 1},       {2, 1, 1, 0, 0, 1},       {2, 1, 2, 0.5, 0, 0.5},
      {2, 1, 3, 1, 0, 0},          {2, 3, 2, 0, 0, 1},       {1, 1, none, 1, 0, 0},    {1, 2, none, 0, 0, 0},
      {2, none, 1, 0, 0, 0},       {2, none, 2, 1, 0, 0},    {1, none, none, 1, 0, 0}, {none, 1, 2, 1, 0, 0},
      {none, 2, 1, 1, 0, 1},       {none, none, 1, 1, 0, 0}, {3, 1, 2, 0, 0, 1},       {3, 3, 3, 1, 0, 0},
      {none, none, none, 1, 0, 0},
  };
  std::vector<double> xs, lows, highs;
  for (const row& r : rows) xs.push_back(r.x), lows.push_back(r.low), highs.push_back(r.high);
  const auto g = gradients_of<double>([](auto x, auto l, auto h) { return clamp(x, l, h); }, tensor_of(xs),
                                      tensor_of(lows), tensor_of(highs));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const row& r = rows[i];
    CHECK_MESSAGE((g[i] == r.of_x && g[rows.size() + i] == r.of_low && g[2 * rows.size() + i] == r.of_high), "clamp(",
                  r.x, ", ", r.low, ", ", r.high, ") passes ", g[i], ", ", g[rows.size() + i], ", ",
                  g[2 * rows.size() + i]);
  }
  CHECK(gradients_of<double>([](auto x) { return clamp(x, 0, 1); }, Tensor<double>{none, 0.0, 1.0, 2.0}) ==
        std::vector<double>{0, 0, 0, 0});
}

TEST_CASE("minimum, maximum, clamp: limits outside an integer type limit nothing, or are refused") {
  const Tensor<std::uint8_t> u{std::uint8_t{1}, std::uint8_t{200}};
  const Tensor<std::int8_t> i{std::int8_t{100}, std::int8_t{-100}};
  auto is = [](const auto& y, int a, int b) {
    CHECK(static_cast<int>(y(0)) == a);
    CHECK(static_cast<int>(y(1)) == b);
  };
  is(evaluated(clamp(u, -5, 300)), 1, 200);
  is(evaluated(clamp(u, -5, 100)), 1, 100);
  is(evaluated(clamp(i, -300, 50)), 50, -100);
  is(evaluated(minimum(u, 300)), 1, 200);
  is(evaluated(maximum(u, -1)), 1, 200);
  is(evaluated(maximum(i, -129)), 100, -100);
  CHECK_THROWS_AS(clamp(u, 300, 400), value_error);
  CHECK_THROWS_AS(clamp(u, -9, -5), value_error);
  CHECK_THROWS_AS(maximum(u, 300), value_error);
  CHECK_THROWS_AS(minimum(u, -1), value_error);
}
