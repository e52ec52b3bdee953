// SPDX-License-Identifier: BSL-1.0
// Derivatives of derivatives through ops that have nodes of their own: joins, indexing, convolution, pooling.
#include <doctest/doctest.h>

#include <vector>

#include <autograd/orders.hpp>
#include <kiln/nn/functional/batch_norm.hpp>
#include <kiln/nn/functional/conv2d.hpp>
#include <kiln/nn/functional/pool2d.hpp>
#include <kiln/tensor/indexing.hpp>
#include <kiln/tensor/join.hpp>
#include <kiln/tensor/products.hpp>
#include <support/draw.hpp>

using namespace orders;
using test::draw;

TEST_CASE("create_graph: joins") {
  draw d(1);
  const Doubles a = d.contiguous<double>({2, 3}, 0.5, 1.5), b = d.contiguous<double>({2, 2}, 0.5, 1.5);
  for (int order = 2; order <= 3; ++order)
    CHECK(difference(
              [](list x) {
                const Doubles c = cat({x[0], x[1], x[0]}, 1);
                return Doubles(c * c * c);
              },
              {a, b}, order) == "");
}

TEST_CASE("create_graph: gather, scatter and scatter_add") {
  draw d(2);
  const Doubles a = d.contiguous<double>({3, 2}, 0.5, 1.5), v = d.contiguous<double>({3, 3}, 0.5, 1.5);
  const Tensor<std::int64_t> rows{2, 0, 2, 1}, at{{1, 0, 2}, {2, 2, 0}};
  for (int order = 2; order <= 3; ++order) {
    CHECK(difference(
              [&](list x) {
                const Doubles y = index_select(x[0], 0, rows);
                return Doubles(y * y * y);
              },
              {a}, order) == "");
    // Values longer than the index, and places that get several or none.
    CHECK(difference(
              [&](list x) {
                const Doubles s = scatter_add(x[0], 1, at, x[1]);
                return Doubles(s * s * s);
              },
              {v, v}, order) == "");
  }
  const Tensor<std::int64_t> once{{1, 0, 2}, {2, 1, 0}};
  CHECK(difference(
            [&](list x) {
              const Doubles s = scatter(x[0], 1, once, x[1]);
              return Doubles(s * s * s * s);
            },
            {v, v}, 3) == "");
}

TEST_CASE("create_graph: convolution, with strides, padding and groups; its gradients are convolutions") {
  draw d(3);
  const Doubles x = d.contiguous<double>({2, 2, 4, 3}, -1, 1), w = d.contiguous<double>({2, 1, 2, 2}, -1, 1),
                b = d.contiguous<double>({2}, -1, 1);
  const conv2d_options how{.stride = {2, 1}, .padding = 1, .groups = 2};
  for (int order = 2; order <= 3; ++order) {
    CHECK(difference([&](list t) { return conv2d(t[0], t[1], t[2], how); }, {x, w, b}, order) == "");
    CHECK(difference([&](list t) { return Doubles(tanh(conv2d(t[0], t[1], t[2], how))); }, {x, w, b}, order) == "");
  }
}

TEST_CASE("create_graph: a pass through a gradient reaches what the gradient's own pass left out") {
  // y[o] is the sum of w[o, i] x[i]. The sum over i of the derivatives of sum(y^2) / 2 is that of y[o] W[o], where W[o]
  // is the sum of w[o, i].
  const std::vector<double> X{1, -2, 3, 0.5}, W{2, 1, -1, 3, 0.5, 1, 1, -2};
  double by_x[4] = {}, by_w[8] = {};
  for (std::size_t o = 0; o < 2; ++o) {
    double total = 0, at = 0;
    for (std::size_t i = 0; i < 4; ++i) total += W[4 * o + i], at += W[4 * o + i] * X[i];
    for (std::size_t i = 0; i < 4; ++i) by_x[i] += W[4 * o + i] * total, by_w[4 * o + i] = X[i] * total + at;
  }
  const auto check = [&](const dims& x_sizes, const dims& w_sizes, auto f) {
    Doubles x = tensor(X, x_sizes), w = tensor(W, w_sizes);
    x.requires_grad(), w.requires_grad();
    const Doubles y = f(x, w);
    backward(sum(grad(sum(y * y) * 0.5, x, {.create_graph = true})));
    for (int i = 0; i < 4; ++i) CHECK(x.grad().data()[i] == doctest::Approx(by_x[i]));
    for (int i = 0; i < 8; ++i) CHECK(w.grad().data()[i] == doctest::Approx(by_w[i]));
  };
  check({1, 4}, {2, 4}, [](const Doubles& x, const Doubles& w) { return Doubles(matmul(x, w.t())); });
  check({1, 1, 2, 2}, {2, 1, 2, 2}, [](const Doubles& x, const Doubles& w) { return Doubles(conv2d(x, w)); });
}

TEST_CASE("create_graph: average pooling; what has no second derivative says so") {
  draw d(4);
  Doubles x = d.contiguous<double>({1, 2, 4, 4}, -1, 1);
  CHECK(difference(
            [](list t) {
              const Doubles y = avg_pool2d(t[0] * t[0], 3, {.stride = 1, .padding = 1});
              return Doubles(y * y);
            },
            {x}, 3) == "");
  x.requires_grad();
  CHECK_THROWS_WITH_AS(backward(sum(max_pool2d(x, 2)), {.create_graph = true}),
                       doctest::Contains("max_pool2d has no second derivative"), graph_error);
  const Doubles none;
  CHECK_THROWS_WITH_AS(backward(sum(batch_norm(x, none, none, {.training = true})), {.create_graph = true}),
                       doctest::Contains("batch_norm in training has no second derivative"), graph_error);
  CHECK_NOTHROW(backward(sum(max_pool2d(x, 2))));  // a pass that failed leaves nothing behind
}
