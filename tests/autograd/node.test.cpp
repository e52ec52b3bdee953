// SPDX-License-Identifier: BSL-1.0
// Gradients of evaluated expressions: every leaf, however it is broadcast or lies in memory, against differences.
#include <doctest/doctest.h>

#include <kiln/autograd/node.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/products.hpp>
#include <support/compare.hpp>
#include <support/draw.hpp>

using namespace kiln;
using test::draw;
using test::gradient_difference;
using test::lengths;

TEST_CASE("node: gradients of maps, leaves broadcast and placed in every way") {
  for (std::uint32_t seed = 1; seed <= 80; ++seed) {
    CAPTURE(seed);
    draw d(seed);
    const lengths s = d.shape(4, 60);
    const auto a = d.tensor<double>(s), b = d.tensor<double>(d.narrower(s)), c = d.tensor<double>(d.narrower(s));
    CAPTURE(a.sizes());
    CAPTURE(b.sizes());
    CAPTURE(c.sizes());
    CHECK(gradient_difference([](auto x, auto y, auto z) { return x * y + sin(z) * x - 0.5 * tanh(y * z); }, a, b, c) ==
          "");
  }
}

TEST_CASE("node: a leaf in many places of a long expression, in any length") {
  for (std::int64_t n = 1; n <= 20; ++n) {
    CAPTURE(n);
    draw d(static_cast<std::uint32_t>(n));
    const auto x = d.contiguous<double>({n}, 0.5, 1.5), y = d.contiguous<double>({n}, 0.5, 1.5);
    CHECK(gradient_difference(
              [](auto a, auto b) {
                return a * exp(b) + sin(a) * log(a) - tanh(a * b) / (a + sqrt(b)) + square(b) * cos(b - a);
              },
              x, y) == "");
  }
}

TEST_CASE("node: half types take and give gradients, mixed types each in their own") {
  draw d(3);
  auto a = d.contiguous<half>({7, 5});
  auto b = d.contiguous<bfloat16>({5});
  auto c = d.contiguous<half>({7, 1});
  auto z = d.contiguous<double>({5});
  a.requires_grad(), b.requires_grad(), c.requires_grad(), z.requires_grad();
  Tensor<half> g(new_tensor(dtype::float16, {7, 5}));
  g.fill_(half(0.5f));
  backward(Tensor<half>(tanh(a) * c), g);
  for (int i = 0; i < 7; ++i) {
    double sum = 0;
    for (int j = 0; j < 5; ++j) {
      const double t = std::tanh(static_cast<double>(static_cast<float>(a(i, j))));
      sum += 0.5 * t;
      CHECK(static_cast<float>(a.grad()(i, j)) ==
            doctest::Approx(0.5 * (1 - t * t) * static_cast<float>(c(i, 0))).epsilon(2e-3));
    }
    CHECK(static_cast<float>(c.grad()(i, 0)) == doctest::Approx(sum).epsilon(2e-3));
  }
  a.zero_grad();
  backward(Tensor<half>(exp(a)), g);  // its rule reads the result, which is stored as half
  CHECK(static_cast<float>(a.grad()(2, 3)) ==
        doctest::Approx(0.5 * std::exp(static_cast<float>(a(2, 3)))).epsilon(3e-3));
  a.zero_grad();
  backward(sum(a * b * z));
  for (int j = 0; j < 5; ++j) {
    double want_b = 0, want_z = 0;
    for (int i = 0; i < 7; ++i) {
      CHECK(static_cast<float>(a.grad()(i, j)) == doctest::Approx(static_cast<float>(b(j)) * z(j)).epsilon(1e-3));
      want_b += static_cast<float>(a(i, j)) * z(j);
      want_z += static_cast<double>(static_cast<float>(a(i, j)) * static_cast<float>(b(j)));
    }
    CHECK(static_cast<float>(b.grad()(j)) == doctest::Approx(want_b).epsilon(1e-2));
    CHECK(z.grad()(j) == doctest::Approx(want_z).epsilon(1e-6));
  }
}

TEST_CASE("node: a value that a backward pass needs must not have changed; others may") {
  Tensor<float> w{1, 2, 3}, x{4, 5, 6};
  w.requires_grad();
  Tensor<float> product = w * x, sum_of_both = w + x, e = exp(w);
  x += 1.0f;
  CHECK_NOTHROW(backward(sum_of_both, x));
  CHECK_THROWS_WITH_AS(backward(product, x), doctest::Contains("changed in place (1 times)"), graph_error);
  e *= 2.0f;  // exp's rule reads its result
  CHECK_THROWS_AS(backward(sum(e)), graph_error);
}

TEST_CASE("node: what an expression overwrites and its own backward pass reads is kept") {
  Tensor<double> w{1, 2, 3}, v{0.5, -1, 2};
  w.requires_grad(), v.requires_grad();
  Tensor<double> x{4, 5, 6};
  x *= w;
  x += square(x) * v;
  for (Tensor<double> part : {x.slice(0, 0, 1), x.slice(0, 1)}) part *= part;
  backward(sum(x));  // (q + q^2 v)^2 where q is x w
  const double before[] = {4, 5, 6};
  for (int i = 0; i < 3; ++i) {
    const double q = before[i] * w(i), r = q + q * q * v(i);
    CHECK(x(i) == doctest::Approx(r * r));
    CHECK(w.grad()(i) == doctest::Approx(2 * r * (1 + 2 * q * v(i)) * before[i]));
    CHECK(v.grad()(i) == doctest::Approx(2 * r * q * q));
  }
  Tensor<double> h = w * 1.0;
  const Tensor<double> earlier = h * v;
  h *= h;  // what is kept is for this one alone: the product before it still misses its operand
  CHECK_NOTHROW(backward(sum(h)));
  CHECK_THROWS_AS(backward(sum(earlier)), graph_error);
}

TEST_CASE("node: a graph built on a gradient notices that the gradient has grown") {
  Tensor<float> w{1, 2, 3};
  w.requires_grad();
  backward(sum(w * w));
  auto g = w.grad();
  g.requires_grad();
  const Tensor<float> y = sum(g * g);
  backward(sum(w * w));
  CHECK(g(2) == 12);  // grad() is a handle: it sees what is added
  CHECK_THROWS_AS(backward(y), graph_error);
}
