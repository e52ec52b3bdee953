// SPDX-License-Identifier: BSL-1.0
// cumsum and cumprod against std::partial_sum over the elements of each line, listed one by one; gradients against
// sums written out and finite differences.
#include <kiln/tensor/scan.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/autograd/check_gradient.hpp>
#include <kiln/autograd/create_graph.hpp>
#include <kiln/autograd/grad.hpp>
#include <kiln/tensor/equal.hpp>
#include <kiln/tensor/views.hpp>

using namespace kiln;

namespace {

template <class T>
using wide = std::conditional_t<is_floating(dtype_of<T>), double, std::int64_t>;

template <class T>
std::vector<wide<T>> expected(const std::vector<wide<T>>& line, bool product) {
  std::vector<wide<T>> made(line.size());
  if (product)
    std::partial_sum(line.begin(), line.end(), made.begin(), std::multiplies<>());
  else
    std::partial_sum(line.begin(), line.end(), made.begin());
  return made;
}

Tensor<double> numbers(const dims& sizes) {
  auto x = empty<double>(sizes);
  std::mt19937 random(3);
  for (double& e : x.span()) e = 0.25 + static_cast<double>(random() % 1000) / 700;
  return x;
}

}  // namespace

TEST_CASE_TEMPLATE("running sums and products along every axis of every layout", T, bool, std::uint8_t, std::int32_t,
                   std::int64_t, half, bfloat16, float, double) {
  std::mt19937 random(1);
  auto x = empty<T>({5, 41, 36});
  for (T& e : x.span()) e = static_cast<T>(static_cast<float>(random() % 5) / (is_floating(dtype_of<T>) ? 2.5f : 2));
  for (const Tensor<T>& y : {x, x.transpose(0, 1), x.slice(1, 1, 40, 3), x.permute({2, 0, 1}), x.slice(2, 1, 2)})
    for (int axis = 0; axis < 3; ++axis) {
      const dims order = axis == 0 ? dims{1, 2, 0} : axis == 1 ? dims{0, 2, 1} : dims{0, 1, 2};
      const auto sums = cumsum(y, axis), products = cumprod(y, axis - 3);
      using R = typename decltype(sums)::value_type;
      static_assert(std::is_same_v<R, std::conditional_t<is_floating(dtype_of<T>), T, std::int64_t>>);
      REQUIRE(sums.sizes() == y.sizes());
      REQUIRE(products.sizes() == y.sizes());
      const dims s = y.permute(order).sizes();
      const Tensor<T> lines = y.permute(order);
      const Tensor<R> of_sums = sums.permute(order), of_products = products.permute(order);
      bool right = true;
      for (std::int64_t i = 0; i < s[0]; ++i)
        for (std::int64_t j = 0; j < s[1]; ++j) {
          std::vector<wide<T>> line;
          for (std::int64_t k = 0; k < s[2]; ++k) line.push_back(static_cast<wide<T>>(lines(i, j, k)));
          const auto plus = expected<T>(line, false), times = expected<T>(line, true);
          const double rounding = std::is_same_v<T, bfloat16> ? 0x1p-8
                                  : std::is_same_v<T, half>   ? 0x1p-11
                                  : std::is_same_v<T, float>  ? 0x1.001p-24
                                                              : 0;
          for (std::size_t k = 0; k < line.size(); ++k) {
            const auto at = static_cast<std::int64_t>(k);
            const auto close = [&](R got, wide<T> wanted) {
              if constexpr (is_floating(dtype_of<T>)) {
                const double result = static_cast<double>(got), limit = static_cast<double>(T(wanted));
                // Below the smallest normal number, and beyond the largest, they are what the type has there.
                return result == limit || std::abs(result - wanted) <= rounding * std::abs(wanted) + 0x1p-24;
              } else {
                return got == wanted;
              }
            };
            right = right && close(of_sums(i, j, at), plus[k]) && close(of_products(i, j, at), times[k]);
          }
        }
      REQUIRE(right);
    }
}

TEST_CASE("long sums of floats are not rounded on the way, integers wrap around") {
  const auto tenths = full({1000000}, 0.1f);
  CHECK(cumsum(tenths, 0)(999999) == static_cast<float>(1000000 * static_cast<double>(0.1f)));
  const auto halves = full<half>({4096}, 1.0f);
  CHECK(static_cast<float>(cumsum(halves, 0)(4095)) == 4096);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(cumsum(Tensor<std::int64_t>{most, 1}, 0)(1) == std::numeric_limits<std::int64_t>::min());
  CHECK(cumsum(full<std::uint8_t>({3}, 200), 0)(2) == 600);
}

TEST_CASE("numbers, expressions, lines of nothing") {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  const Tensor<float> number(3.0f);
  CHECK(cumsum(number, 0).dim() == 0);
  CHECK(cumprod(number * 2, -1).item() == 6);
  CHECK(equal(cumsum(Tensor<int>{{1, 2}, {3, 4}} > 1, 0), Tensor<std::int64_t>{{0, 1}, {1, 2}}));
  for (const dims& s : {dims{0, 3, 3}, dims{3, 0, 3}, dims{huge, huge, 0}, dims{0, huge, huge}, dims{huge, 0, huge}})
    for (std::int64_t axis = 0; axis < 3; ++axis) CHECK(cumsum(zeros<float>(s), axis).sizes() == s);
  CHECK_THROWS_WITH_AS(cumsum(Tensor<float>{1, 2}, 1), "cumsum: axis 1 is outside [-1, 0] of a tensor with 1 axes",
                       index_error);
  CHECK_THROWS_AS(cumprod(number, 1), index_error);
}

TEST_CASE("gradients along any axis, of views, added to others, of numbers") {
  const Tensor<double> x = numbers({3, 4, 3});
  for (int axis = 0; axis < 3; ++axis) {
    const auto check = check_gradient(
        [&](auto a) {
          const auto turned = transpose(a, 0, 2);
          return cumsum(turned, axis) * cumprod(turned, axis) + cumsum(cumprod(a, axis), axis);
        },
        x);
    CHECK_MESSAGE(check.agrees, check.text);
  }
  Tensor<float> v{1, 2, 3}, n(2.0f);
  v.requires_grad(), n.requires_grad();
  backward(sum(cumsum(v, 0) * Tensor<float>{1, 10, 100}) + cumsum(n, 0));
  CHECK(equal(v.grad(), Tensor<float>{111, 110, 100}));
  CHECK(n.grad().item() == 1);
}

TEST_CASE("gradients of products: at every number of zeros, beside what is not finite") {
  // By the definition: the sum over i of g_i times the product of all up to i but the one in question.
  const auto by_hand = [](const std::vector<double>& x, const std::vector<double>& g) {
    std::vector<double> made(x.size());
    for (std::size_t k = 0; k < x.size(); ++k)
      for (std::size_t i = k; i < x.size(); ++i) {
        double product = g[i];
        for (std::size_t j = 0; j <= i; ++j) product *= j == k ? 1 : x[j];
        made[k] += product;
      }
    return made;
  };
  const std::vector<double> g{1, -2, 3, 0.5, 4};
  for (int zeros = 0; zeros < 32; ++zeros) {
    std::vector<double> v{2, -1.5, 0.5, 3, 1.25};
    for (std::size_t i = 0; i < v.size(); ++i)
      if (zeros >> i & 1) v[i] = 0;
    Tensor<double> x = tensor(v);
    x.requires_grad();
    backward(cumprod(x, 0), tensor(g));
    const auto wanted = by_hand(v, g);
    CHECK(allclose(x.grad(), tensor(wanted), 1e-14, 0));
  }
  Tensor<float> x{2, 0, std::numeric_limits<float>::infinity()};
  x.requires_grad();
  backward(cumprod(x, 0), Tensor<float>{1, 1, 0});
  CHECK(x.grad()(0) == 1);
  CHECK(x.grad()(2) == 0);
  // Far beyond what a quotient of products could say.
  Tensor<double> small = full<double>({500}, 1e-3);
  small.requires_grad();
  backward(sum(cumprod(small, 0)));
  CHECK(small.grad()(0) == doctest::Approx(1 / (1 - 1e-3)));
  CHECK(small.grad()(1) == doctest::Approx(1e-3 / (1 - 1e-3)));
}

TEST_CASE("gradients of half types are rounded once") {
  Tensor<half> h = full<half>({3}, 2.0f);
  h.requires_grad();
  backward(sum(cumprod(h, 0)));
  CHECK(static_cast<float>(h.grad()(0)) == 7);
  CHECK(static_cast<float>(h.grad()(2)) == 4);
}

TEST_CASE("second derivatives: of sums through either node, of products none") {
  const Tensor<double> w{1, 10, 100};
  Tensor<double> x{1, 2, 3};
  x.requires_grad();
  // The gradient of sum(w s^2) is twice the sums of w s from the end; its own, weighted by w, goes forth and back
  // again.
  const Tensor<double> s = cumsum(x, 0);
  const Tensor<double> first = grad(Tensor<double>(sum(w * s * s)), x, {.create_graph = true});
  CHECK(equal(first.detach(), Tensor<double>{2 * (1 + 30 + 600), 2 * (30 + 600), 2 * 600}));
  const Tensor<double> second = grad(Tensor<double>(sum(first)), x);
  // d/dx_k of sum over i, j >= i of 2 w_j s_j: 2 w_j (j + 1) for each j >= k.
  CHECK(equal(second, Tensor<double>{2 * (1 + 20 + 300), 2 * (20 + 300), 2 * 300}));
  CHECK_THROWS_WITH_AS(grad(Tensor<double>(sum(cumprod(x, 0))), x, {.create_graph = true}),
                       "create_graph: cumprod has no second derivative: call backward() without create_graph, or "
                       "detach() what goes into "
                       "it",
                       graph_error);
  const Tensor<double> products = cumprod(x, 0);
  x *= 2;
  CHECK_THROWS_AS(backward(sum(products)), graph_error);
}
