// SPDX-License-Identifier: BSL-1.0
// Gradients of reductions and row programs over any axes, against differences and closed forms.
#include <doctest/doctest.h>

#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <support/compare.hpp>
#include <support/draw.hpp>
#include <support/sanitized.hpp>

using namespace kiln;
using test::draw;
using test::gradient_difference;
using test::lengths;

TEST_CASE("node: gradients of reductions over any axes, with expressions below and above") {
  for (std::uint32_t seed = 1; seed <= (test::sanitized ? 20 : 60); ++seed) {
    CAPTURE(seed);
    draw d(seed);
    const lengths s = d.shape(4, 60, false);
    const auto a = d.tensor<double>(s), b = d.tensor<double>(d.narrower(s));
    const std::uint32_t mask = d.axes(s.size());
    const bool keep = d.chance(2);
    const axes over = test::axes_in(mask, s.size());
    CAPTURE(a.sizes());
    CAPTURE(b.sizes());
    CAPTURE(mask);
    CAPTURE(keep);
    CHECK(gradient_difference([&](auto x, auto y) { return 3.0 * exp(-0.1 * mean(x * y * x, over, keep)); }, a, b) ==
          "");
    CHECK(gradient_difference([&](auto x) { return prod(x + 3.0, over, keep); }, a) == "");
    CHECK(gradient_difference([&](auto x, auto y) { return max(x + 0.0 * y, over, keep); }, a, b) == "");
    CHECK(gradient_difference([&](auto x, auto y) { return logsumexp(x - y, over, keep); }, a, b) == "");
    CHECK(gradient_difference([&](auto x) { return var(x, over, keep, 0) + norm(x + 3.0, over, keep); }, a) == "");
    CHECK(gradient_difference([&](auto x, auto y) { return y * log_softmax(x, over); }, a, b) == "");
    CHECK(gradient_difference([&](auto x, auto y) { return layer_norm(x, over, 0.1) * y + y; }, a, b) == "");
  }
}

TEST_CASE("node: gradients where a row program must be split, and where it need not") {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    draw d(seed);
    const std::int64_t m = d.integer(1, 6), n = d.integer(1, 6);
    const auto x = d.tensor<double>({m, n}), y = d.tensor<double>({m, n}), row = d.tensor<double>({n});
    const auto number = d.tensor<double>({});
    CHECK(gradient_difference([](auto a, auto b) { return a - mean(b, -1, true); }, x, y) == "");
    CHECK(gradient_difference([](auto a, auto b, auto r) { return softmax(a * r, 0) * softmax(b, 1) + sum(a, 0); }, x,
                              y, row) == "");
    CHECK(gradient_difference([](auto a, auto b) { return sum(a) / (10.0 + sum(b * b)) + max(a); }, x, y) == "");
    CHECK(gradient_difference([](auto a, auto c, auto r) { return sum((a - mean(a, -1, true)) * c * r, -1); }, x,
                              number, row) == "");
    CHECK(gradient_difference([](auto a, auto c) { return c * sum(square(softmax(a, -1)), -1); }, x, number) == "");
    CHECK(gradient_difference(
              [](auto a, auto r) {
                auto e = a - mean(a, -1, true);
                return e * rsqrt(mean(square(e), -1, true) + 0.1) * r;
              },
              x, row) == "");
  }
}

TEST_CASE("node: gradients past the size of one strip, one row, one thread") {
  for (int threads : {1, 2}) {
    cpu::set_num_threads(threads);
    for (std::int64_t n : {2047, 5000, 40000}) {
      CAPTURE(n);
      draw d(static_cast<std::uint32_t>(n));
      const auto x = d.contiguous<float>({3, n}), row = d.tensor<float>({n}), column = d.tensor<float>({3, 1});
      for (const auto* t : {&x, &row, &column}) Tensor<float>(*t).requires_grad();
      const auto g = d.contiguous<float>({3, n});
      backward(Tensor<float>(softmax(x * column, -1) * row), g);
      double worst = 0, worst_column = 0;
      for (int i = 0; i < 3; ++i) {
        std::vector<double> p(static_cast<std::size_t>(n));
        double sum = 0, dot = 0, want_column = 0;
        for (std::int64_t j = 0; j < n; ++j)
          sum += p[static_cast<std::size_t>(j)] = std::exp(double(x(i, j)) * double(column(i, 0)));
        for (std::int64_t j = 0; j < n; ++j)
          dot += (p[static_cast<std::size_t>(j)] /= sum) * double(g(i, j)) * double(row(j));
        for (std::int64_t j = 0; j < n; ++j) {
          const double want = p[static_cast<std::size_t>(j)] * (double(g(i, j)) * double(row(j)) - dot);
          worst = std::max(
              worst, std::abs(double(x.grad()(i, j)) - want * double(column(i, 0))) / p[static_cast<std::size_t>(j)]);
          want_column += want * double(x(i, j));
        }
        worst_column = std::max(worst_column, std::abs(double(column.grad()(i, 0)) - want_column));
      }
      CHECK(worst < 2e-5);
      CHECK(worst_column < 2e-6);
    }
  }
}
