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

TEST_CASE("clamp: the gradient passes inside, limits included, and reaches the limits outside") {
  const auto check = check_gradient([](auto x, auto l, auto h) { return clamp(x, l, h); },
                                    Tensor<double>{-3.0, 0.5, 7.0}, Tensor<double>{-1.0}, Tensor<double>{2.0});
  CHECK_MESSAGE(check.agrees, check.text);
  CHECK(gradients_of<double>([](auto x) { return clamp(x, -1, 1); }, Tensor<double>{-1.0, 1.0, 1.5, -2.0, 0.0}) ==
        std::vector<double>{1, 1, 0, 0, 1});
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
