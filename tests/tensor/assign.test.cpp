// SPDX-License-Identifier: BSL-1.0
// Several tensors written at once, in place, from each other's old values: against plain loops.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <kiln/kiln.hpp>
#include <kiln/tensor/assign.hpp>
#include <support/draw.hpp>

using namespace kiln;
using test::draw;

TEST_CASE("assign: an optimizer's step reads the old values and writes all three in place, at any length and stride") {
  for (const std::int64_t n : {0, 1, 3, 16, 67, 1000, 70001}) {
    for (const bool strided : {false, true}) {
      CAPTURE(n);
      CAPTURE(strided);
      draw d(static_cast<std::uint32_t>(n) + 1);
      auto made = [&] {
        auto t = d.contiguous<double>({n, 2}, 0.5, 1.5);
        return strided ? t.select(1, 0) : t.flatten();
      };
      Tensor<double> m = made(), v = made(), w = made(), g = made();
      const auto m0 = m.clone(), v0 = v.clone(), w0 = w.clone(), g0 = g.clone();
      w.requires_grad();
      const double* const at = w.data();
      const auto em = 0.9 * m + 0.1 * g;
      const auto ev = 0.99 * v + 0.01 * (g * g);
      assign(std::tie(m, v, w), em, ev, w - 0.1 * (em / (sqrt(ev) + 1e-8)));
      CHECK(w.data() == at);
      double worst = 0;
      for (std::int64_t i = 0; i < m.numel(); ++i) {
        const double mi = 0.9 * m0(i) + 0.1 * g0(i), vi = 0.99 * v0(i) + 0.01 * (g0(i) * g0(i));
        worst = std::max({worst, std::abs(m(i) - mi), std::abs(v(i) - vi),
                          std::abs(w(i) - (w0(i) - 0.1 * (mi / (std::sqrt(vi) + 1e-8))))});
      }
      CHECK(worst < 1e-14);
    }
  }
}

TEST_CASE("assign: tensors change places, types may differ, and what does not fit one kernel takes several") {
  Tensor<float> a{1, 2, 3}, b{4, 5, 6};
  assign(std::tie(a, b), b, a);
  CHECK((a(0) == 4 && a(2) == 6 && b(0) == 1 && b(2) == 3));
  Tensor<double> wide{0, 0, 0};
  assign(std::tie(wide, a), a * b, 7);
  CHECK((wide(1) == 10 && a(1) == 7));
  // A sum, another shape, and an operand that overlaps a target in part.
  Tensor<float> all{1, 2, 3, 4}, total{0};
  Tensor<float> head = all.slice(0, 0, 3), tail = all.slice(0, 1, 4);
  assign(std::tie(head, total), tail * 10.0f, sum(all, 0, true));
  CHECK((all(0) == 20 && all(1) == 30 && all(2) == 40 && all(3) == 4));
  CHECK(total(0) == 10);
}

TEST_CASE("assign: tensors of several shapes, each by expressions of its own") {
  Tensor<float> two{1, 2}, none = empty<float>({0});
  Tensor<double> grid{{1, 2, 3}, {4, 5, 6}};
  Tensor<bool> flags{true, false, true};
  const Tensor<float> row{10, 20, 30};
  const Tensor<std::int64_t> column{{100}, {200}};
  assign(std::tie(two, none, grid, flags), two * 3.0f + 1.0f, none + 1.0f, grid + row * column, row > 15.0f);
  CHECK((two(0) == 4 && two(1) == 7 && none.numel() == 0));
  const double expected[2][3] = {{1001, 2002, 3003}, {2004, 4005, 6006}};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) CHECK(grid(i, j) == expected[i][j]);
  CHECK((!flags(0) && flags(1) && flags(2)));
  // One reads what the other writes, in another shape.
  Tensor<float> number{5}, many{1, 2, 3};
  assign(std::tie(number, many), number + 1.0f, many * number);
  CHECK((number(0) == 6 && many(0) == 5 && many(2) == 15));
}

TEST_CASE("assign: blobs that overlap are read before they are written") {
  float memory[] = {1, 2, 3, 4};
  Tensor<float> low = from_blob(memory, {3}), high = from_blob(memory + 1, {3}), other{0, 0, 0};
  assign(std::tie(high, other), low * 10.0f, low + 1.0f);
  CHECK((memory[1] == 10 && memory[2] == 20 && memory[3] == 30 && other(2) == 4));
  CHECK_THROWS_AS(assign(std::tie(high, low), low * 10.0f, low + 1.0f), value_error);
}

TEST_CASE("assign: mistakes are named") {
  Tensor<float> a{1, 2}, b{3, 4}, c{1, 2, 3}, w{5, 6};
  CHECK_THROWS_WITH_AS(assign(std::tie(a, c), b, b), doctest::Contains("expression 1 has shape [2]"), shape_error);
  CHECK_THROWS_WITH_AS(assign(std::tie(a, a), b, b), doctest::Contains("tensors 0 and 1 share"), value_error);
  w.requires_grad();
  CHECK_THROWS_WITH_AS(assign(std::tie(a, b), w, b), doctest::Contains("no_grad"), graph_error);
  const no_grad quiet;
  const Tensor<float> saved = a.clone();
  assign(std::tie(a, b), w * 2.0f, a);
  CHECK((a(1) == 12 && b(1) == saved(1)));
}

TEST_CASE("assign: a backward pass that needs the old value says so") {
  Tensor<float> w{1, 2}, x{3, 4};
  w.requires_grad();
  const Tensor<float> y = sum(w * x);
  assign(std::tie(x, w), x + 1.0f, w * 1.0f);
  CHECK_THROWS_WITH_AS(backward(y), doctest::Contains("changed in place"), graph_error);
}
