// SPDX-License-Identifier: BSL-1.0
// grad() by views that were read through other views, and passes that start with a gradient that has a history.
// (tests/autograd/create_graph.test.cpp has the rest of grad().) The numbers are PyTorch's rules worked out by hand.
#include <kiln/autograd/grad.hpp>

#include <doctest/doctest.h>

#include <vector>

#include <autograd/orders.hpp>
#include <kiln/tensor/join.hpp>
#include <kiln/tensor/views.hpp>

using namespace orders;
using doubles = std::vector<double>;

namespace {
doubles values(const Doubles& t) {
  const Doubles c = t.detach().clone();
  return {c.span().begin(), c.span().end()};
}
}  // namespace

TEST_CASE("grad: by a view that was read through a view of it") {
  for (const bool recorded : {false, true}) {
    CAPTURE(recorded);
    const grad_options how{.retain_graph = true, .create_graph = recorded};
    Doubles x{{1, 2, 3}, {4, 5, 6}};
    x.requires_grad();
    const Doubles y = x * 1, row = y[1], turned = transpose(y), part = row.slice(0, 1, 3), last = part[1];
    const Doubles out = sum(part * part) + 10 * last + sum(turned[0] * 7);
    CHECK(values(grad(out, part, how)) == doubles{10, 22});
    CHECK(values(grad(out, row, how)) == doubles{0, 10, 22});
    CHECK(values(grad(out, last, how)) == doubles{10});
    CHECK(values(grad(out, turned, how)) == doubles{7, 7, 0, 0, 0, 0});
    const auto several = grad(out, {y, row, last, x}, how);
    CHECK(values(several[0]) == doubles{7, 0, 0, 7, 10, 22});
    CHECK(values(several[1]) == doubles{0, 10, 22});
    CHECK(values(several[2]) == doubles{10});
    CHECK(values(several[3]) == doubles{7, 0, 0, 7, 10, 22});
    backward(out, {.retain_graph = true});  // goes as it went before
    CHECK(values(x.grad()) == doubles{7, 0, 0, 7, 10, 22});
  }
}

TEST_CASE("grad: by a view between two others of several, and one that is not on the way") {
  Doubles x = zeros<double>({4, 6});
  x.requires_grad();
  const Doubles y = x + 1, v = y.reshape({2, 2, 6}), w = v[1], other = v[0];
  const Doubles a = w.slice(1, 0, 3), b = transpose(w).slice(0, 2, 4);
  const Doubles out = sum(a) * 2 + sum(b * b);
  CHECK(values(grad(out, w, {.retain_graph = true})) == doubles{2, 2, 4, 2, 0, 0, 2, 2, 4, 2, 0, 0});
  const Doubles of_v = grad(out, v, {.retain_graph = true});
  CHECK(of_v.sizes() == dims{2, 2, 6});
  CHECK(sum(of_v).item() == 20);
  CHECK_THROWS_WITH_AS(grad(out, other, {.retain_graph = true}), doctest::Contains("nothing that leads to the result"),
                       graph_error);
  Doubles deep = y;
  for (int k = 0; k < 100; ++k) deep = deep.slice(0, 0);  // longer than any way that is kept
  CHECK(values(grad(Doubles(sum(deep)), y, {.retain_graph = true})) == doubles(24, 1));
}

TEST_CASE("grad: of second order by a view of a view") {
  Doubles x{1, 2, 3, 4};
  x.requires_grad();
  const Doubles y = x * 1, v = y.slice(0, 1, 4), w = v.slice(0, 1, 3);
  const Doubles out = sum(w * w * w);
  const Doubles first = grad(out, v, {.create_graph = true});
  CHECK(values(first) == doubles{0, 27, 48});
  CHECK(values(grad(Doubles(sum(first)), x)) == doubles{0, 0, 18, 24});
}

TEST_CASE("grad, backward: the gradient that a recorded pass starts with keeps its history") {
  Doubles x{2, 3}, c{5, 7};
  x.requires_grad(), c.requires_grad();
  const Doubles y = x * x;
  const Doubles g = grad(y, x, c * c, {.create_graph = true});                         // 2 x c^2
  CHECK(values(grad(Doubles(sum(g)), c, {.retain_graph = true})) == doubles{40, 84});  // 4 x c
  const auto [of_x] = grad(y, std::tie(x), c * c, {.create_graph = true});
  CHECK(values(grad(Doubles(sum(of_x)), c, {.retain_graph = true})) == doubles{40, 84});
  backward(y, c * c, {.create_graph = true});
  const Doubles kept = x.grad();
  CHECK(values(grad(Doubles(sum(kept)), c, {.retain_graph = true})) == doubles{40, 84});
  x.zero_grad();
  CHECK_FALSE(Doubles(grad(y, x, c * c)).needs_grad());
}

TEST_CASE("grad: of second order by each of many choices of operands, more than are kept") {
  const int n = 5;
  std::vector<Doubles> x;
  for (int k = 0; k < n; ++k) {
    x.push_back(Doubles{1.0 + k, 2.0 - k});
    x.back().requires_grad();
  }
  const Doubles y = x[0] * x[1] * x[2] * x[3] * x[4];
  const auto of = [&](const std::vector<Doubles>& all, int without_a, int without_b, int at) {
    double product = 1;
    for (int k = 0; k < n; ++k)
      if (k != without_a && k != without_b) product *= all[static_cast<std::size_t>(k)](at);
    return product;
  };
  for (int round = 0; round < 2; ++round)
    for (unsigned chosen = 1; chosen < 32; ++chosen) {
      std::vector<Doubles> inputs;
      for (unsigned k = 0; k < n; ++k)
        if (chosen >> k & 1) inputs.push_back(x[k]);
      const auto first = grad(y, inputs, Doubles{1, 1}, {.create_graph = true});
      const auto second = grad(first[0], inputs, Doubles{1, 1}, {.allow_unused = true});
      int a = 0;
      while (!(chosen >> a & 1)) ++a;
      std::size_t at = 0;
      for (int b = 0; b < n; ++b) {
        if (!(chosen >> b & 1)) continue;
        for (int e = 0; e < 2; ++e) CHECK(near(second[at](e), a == b ? 0 : of(x, a, b, e)));
        ++at;
      }
    }
}

TEST_CASE("grad: of an expression, which is evaluated") {
  Doubles x{1, 2};
  x.requires_grad();
  CHECK(values(grad(sum(x * x * x), x)) == doubles{3, 12});
  CHECK_THROWS_AS((void)grad(x * x, x), graph_error);
}
