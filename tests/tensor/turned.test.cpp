// SPDX-License-Identifier: BSL-1.0
// Products with a matrix that is stored transposed: values, gradients, and where the gradients are written.
#include <kiln/tensor/turned.hpp>

#include <doctest/doctest.h>

#include <kiln/autograd/backward.hpp>
#include <kiln/autograd/create_graph.hpp>
#include <kiln/autograd/grad.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/random.hpp>

using namespace kiln;

namespace {

/// y = x w^T and the gradients of sum(g y), by plain loops.
void check_product(const dims& x_sizes, std::int64_t out) {
  const std::int64_t in = x_sizes.back(), rows = count(x_sizes) / in;
  Tensor<double> x = randn<double>(x_sizes).requires_grad(), w = randn<double>({out, in}).requires_grad();
  dims y_sizes = x_sizes;
  y_sizes[y_sizes.rank() - 1] = out;
  const Tensor<double> g = randn<double>(y_sizes), y = matmul(x, detail::turned(w));
  REQUIRE(y.sizes() == y_sizes);
  for (int pass = 1; pass <= 2; ++pass) {
    backward(sum(y * g), {.retain_graph = true});
    REQUIRE(w.grad().sizes() == w.sizes());
    CHECK(w.grad().contiguous_layout());
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i) {
        double dw = 0;
        for (std::int64_t r = 0; r < rows; ++r) dw += g.data()[r * out + o] * x.data()[r * in + i];
        REQUIRE(w.grad()(o, i) == doctest::Approx(pass * dw).epsilon(1e-12));
      }
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < in; ++i) {
        double dx = 0;
        for (std::int64_t o = 0; o < out; ++o) dx += g.data()[r * out + o] * w(o, i);
        REQUIRE(x.grad().data()[r * in + i] == doctest::Approx(pass * dx).epsilon(1e-12));
      }
  }
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < out; ++o) {
      double value = 0;
      for (std::int64_t i = 0; i < in; ++i) value += x.data()[r * in + i] * w(o, i);
      REQUIRE(y.data()[r * out + o] == doctest::Approx(value).epsilon(1e-12));
    }
}

}  // namespace

TEST_CASE("turned: values and gradients of rows, matrices, square ones and stacks of them") {
  manual_seed(1);
  check_product({3, 4}, 5);
  check_product({4, 4}, 4);
  check_product({2, 3, 4}, 5);
  check_product({7}, 2);
}

TEST_CASE("turned: matrices that are no leaves, frozen ones, and the other passes") {
  manual_seed(2);
  Tensor<double> v = randn<double>({2, 3}).requires_grad(), x = randn<double>({4, 3}).requires_grad();
  const Tensor<double> w = v * 2;
  backward(sum(matmul(x, detail::turned(w))));
  for (std::int64_t i = 0; i < 3; ++i) {
    double column = 0;
    for (std::int64_t r = 0; r < 4; ++r) column += x(r, i);
    CHECK(v.grad()(1, i) == doctest::Approx(2 * column));
  }
  Tensor<double> frozen = randn<double>({2, 3});
  backward(sum(matmul(x, detail::turned(frozen))));
  CHECK_FALSE(frozen.needs_grad());
  const Tensor<double> product = sum(matmul(x, detail::turned(v)));
  const Tensor<double> gv = grad(product, v);
  CHECK(gv.sizes() == v.sizes());
  // sum((x v^T)^2) has the second derivative 2 x^T x in each row of v.
  const Tensor<double> squares = sum(square(matmul(x, detail::turned(v))));
  const Tensor<double> first = grad(squares, v, grad_options{.create_graph = true}), total = sum(first);
  const Tensor<double> second = grad(total, v);
  double expected = 0;
  for (std::int64_t r = 0; r < 4; ++r) expected += 2 * x(r, 0) * (x(r, 0) + x(r, 1) + x(r, 2));
  CHECK(second(1, 0) == doctest::Approx(expected));
}

TEST_CASE("turned: a part of a leaf") {
  manual_seed(3);
  Tensor<double> w = randn<double>({6, 3}).requires_grad(), x = randn<double>({4, 3});
  backward(sum(matmul(x, detail::turned(w.narrow(0, 3, 3)))));
  for (std::int64_t o = 0; o < 6; ++o)
    for (std::int64_t i = 0; i < 3; ++i)
      CHECK(w.grad()(o, i) == doctest::Approx(o < 3 ? 0 : x(0, i) + x(1, i) + x(2, i) + x(3, i)));
}
