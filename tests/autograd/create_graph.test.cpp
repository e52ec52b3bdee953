// SPDX-License-Identifier: BSL-1.0
// Derivatives of derivatives, by backward() and by grad(): closed forms, and differences of the order before.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <autograd/orders.hpp>
#include <kiln/device/cpu/memory/memory.hpp>
#include <kiln/tensor/products.hpp>
#include <support/draw.hpp>

using namespace orders;
using test::draw;

TEST_CASE("create_graph: powers to the fourth order, by backward and by grad") {
  Doubles x{0.5, 1.5, -2.0};
  x.requires_grad();
  backward(sum(x * x * x * x), {.create_graph = true});
  Doubles g = x.grad();
  for (int order = 2; order <= 4; ++order) {
    x.zero_grad();
    backward(sum(g), {.create_graph = true});
    g = x.grad();
  }
  for (int i = 0; i < 3; ++i) CHECK(g(i) == 24);
  x.zero_grad();
  const Doubles y = sum(exp(x * x));
  const Doubles first = grad(y, x, {.create_graph = true});
  const Doubles second = grad(Doubles(sum(first)), x, {.create_graph = true});
  const Doubles third = grad(Doubles(sum(second)), x);
  for (int i = 0; i < 3; ++i) {
    const double v = x(i), e = std::exp(v * v);
    CHECK(near(first(i), 2 * v * e));
    CHECK(near(second(i), (2 + 4 * v * v) * e));
    CHECK(near(third(i), (12 * v + 8 * v * v * v) * e));
  }
  CHECK_FALSE(x.has_grad());
}

TEST_CASE("create_graph: expressions with broadcast leaves, numbers, and results that are read back") {
  draw d(1);
  const Doubles a = d.contiguous<double>({2, 3}, 0.5, 1.5), b = d.contiguous<double>({3}, 0.5, 1.5),
                c = d.contiguous<double>({2, 1}, 0.5, 1.5);
  for (int orders = 1; orders <= 3; ++orders) {
    CHECK(difference([](list x) { return Doubles(tanh(x[0] * x[1]) + 2.5 * sin(x[2]) * x[0]); }, {a, b, c}, orders) ==
          "");
    CHECK(difference([](list x) { return Doubles(exp(x[0]) / x[1]); }, {a, b}, orders) == "");
  }
}

TEST_CASE("create_graph: row programs, over each axis") {
  draw d(2);
  const Doubles a = d.contiguous<double>({2, 3}, 0.5, 1.5), b = d.contiguous<double>({2, 3}, 0.5, 1.5);
  for (int orders = 2; orders <= 3; ++orders) {
    for (const int axis : {0, 1}) {
      CAPTURE(axis);
      CHECK(difference([axis](list x) { return Doubles(softmax(x[0], axis) * x[1]); }, {a, b}, orders) == "");
      CHECK(difference([axis](list x) { return Doubles(exp(sum(x[0] * x[1], axis) * 0.2)); }, {a, b}, orders) == "");
      CHECK(difference([axis](list x) { return Doubles(x[0] * mean(x[1] * x[0], axis, true)); }, {a, b}, orders) == "");
    }
    CHECK(difference([](list x) { return Doubles(logsumexp(x[0] * x[1], 1, true)); }, {a, b}, orders) == "");
  }
}

TEST_CASE("create_graph: products, of all ranks and in the middle of expressions") {
  draw d(3);
  auto t = [&](const std::vector<std::int64_t>& s) { return d.contiguous<double>(s, -1, 1); };
  for (int orders = 2; orders <= 3; ++orders) {
    const auto check = [&](const Doubles& a, const Doubles& b) {
      CHECK(difference([](list x) { return Doubles(matmul(x[0], x[1])); }, {a, b}, orders) == "");
      CHECK(difference([](list x) { return Doubles(tanh(matmul(x[0], x[1]))); }, {a, b}, orders) == "");
    };
    check(t({2, 3}), t({3, 2}));
    check(t({3}), t({3, 2}));
    check(t({2, 3}), t({3}));
    check(t({3}), t({3}));
    check(t({2, 1, 1, 2}), t({3, 2, 1}));
  }
  // What goes back reads the product itself.
  CHECK(difference([](list x) { return Doubles(sin(matmul(x[0], x[1])) * x[2]); }, {t({2, 3}), t({3, 2}), t({2, 2})},
                   3) == "");
}

TEST_CASE("create_graph: views of all kinds") {
  draw d(4);
  const Doubles a = d.contiguous<double>({2, 3}, 0.5, 1.5);
  for (int orders = 2; orders <= 3; ++orders) {
    CHECK(difference([](list x) { return Doubles(exp(x[0].t()) * x[0].reshape({3, 2})); }, {a}, orders) == "");
    CHECK(difference([](list x) { return Doubles(x[0].slice(1, 0, 3, 2) * sin(x[0].narrow(1, 1, 2))); }, {a}, orders) ==
          "");
    CHECK(difference(
              [](list x) {
                return Doubles(x[0].select(0, 1).expand({2, 3}) * x[0] * x[0]);
              },
              {a}, orders) == "");
  }
}

TEST_CASE("create_graph: tensors that were written in place through their views") {
  const Doubles a{0.7, -1.2, 0.4};
  const auto f = [](const std::vector<Doubles>& x) {
    Doubles y = zeros<double>({2, 3});
    const Doubles flat = y.reshape({6});
    y[0] = x[0] * x[0];
    y[1] += y[0] * 3.0 + x[0] * x[0] * x[0];
    y[0][1] = 5.0;
    y.select(1, 2) *= 0.5;
    return Doubles(flat * flat * flat);
  };
  for (int orders = 1; orders <= 3; ++orders) CHECK(difference(f, {a}, orders) == "");
}

TEST_CASE("grad: of tensors on the way, leaving grad() of all leaves alone") {
  Doubles x{1, 2}, w{3, 4}, other{5, 6};
  x.requires_grad(), w.requires_grad(), other.requires_grad();
  backward(sum(w * 1.0));
  const Doubles h = x * w, y = sum(h * h * other);
  const auto g = grad(y, {h, w}, {.retain_graph = true});
  CHECK(g[0](1) == 2 * 8 * 6);
  CHECK(g[1](1) == 2 * 8 * 6 * 2);
  CHECK(w.grad()(1) == 1);
  CHECK_FALSE(x.has_grad());
  CHECK_FALSE(other.has_grad());
  const auto [gx, go] = grad(y, std::tie(x, other));
  CHECK(gx(0) == 2 * 3 * 3 * 5);
  CHECK(go(0) == 9);
  CHECK_THROWS_WITH_AS(grad(y, x), doctest::Contains("retain_graph"), graph_error);
}

TEST_CASE("grad: errors say which input and what to do") {
  Doubles x{1, 2}, unused{3, 4};
  x.requires_grad(), unused.requires_grad();
  const Doubles y = sum(x * x);
  CHECK_THROWS_WITH_AS(grad(y, {x, unused}), doctest::Contains("input 1, of shape [2]"), graph_error);
  const Doubles z = sum(x * x);
  const auto g = grad(z, {x, unused}, {.allow_unused = true});
  CHECK(g[1](0) == 0);
  CHECK_THROWS_WITH_AS(grad(z, Doubles{1, 2}), doctest::Contains("does not require grad"), graph_error);
  CHECK_THROWS_WITH_AS(grad(Doubles(x * x), x), doctest::Contains("not one element"), graph_error);
  const Doubles vector = x * x;
  CHECK(grad(vector, x, Doubles{1, 10})(1) == 40);
}

TEST_CASE("grad: by a view, nothing is left with what it is a view of") {
  // What was left was added to the next pass: the second derivative of x^4 at 2 came out as 80.
  for (const bool recorded : {true, false}) {
    Tensor<double> x(2.0);
    x.requires_grad();
    const Tensor<double> base = x * 1, view = base.reshape(dims{});
    const Tensor<double> y = view * view * view * view, one(1.0);
    (void)grad(y, view, one, {.retain_graph = true, .create_graph = recorded});
    CHECK(grad(y, base, one, {.retain_graph = true}).item() == 32);
    CHECK(grad(y, x, one).item() == 32);
  }
}

TEST_CASE("create_graph: a leaf's gradient and the graph that it holds end with the leaf") {
  const std::size_t before = cpu::memory_stats().in_use;
  for (int k = 0; k < 3; ++k) {
    Doubles x(new_tensor(dtype::float64, {1 << 16}));
    x.fill_(0.5);
    x.requires_grad();
    backward(sum(x * x * x), {.create_graph = true});
    CHECK(near(x.grad()(7), 0.75));
    Doubles late = exp(x);
    if (k == 1) x.zero_grad();
    if (k == 2) x = Doubles{1};  // gone before the pass
    backward(sum(late), {.create_graph = true});
  }
  CHECK(cpu::memory_stats().in_use < before + (1 << 16));
}

TEST_CASE("create_graph: a pass that is not recorded adds in place, and ends the gradient's history") {
  Doubles x{1, 2};
  x.requires_grad();
  backward(sum(x * x), {.create_graph = true});
  const Doubles g = x.grad(), of_g = sum(g * g);
  CHECK(g.needs_grad());
  backward(sum(x * 10.0));
  CHECK(g(1) == 14);
  CHECK_FALSE(x.grad().needs_grad());
  CHECK_THROWS_WITH_AS(backward(of_g), doctest::Contains("changed in place"), graph_error);
}
