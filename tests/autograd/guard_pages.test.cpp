// SPDX-License-Identifier: BSL-1.0
// Operands and gradients given that end exactly where no memory follows, and that begin where none comes before: what
// kernels keep and read again in backward passes, and what is drawn.
#include <doctest/doctest.h>

#include <cstdint>
#include <tuple>
#include <utility>

#include <kiln/autograd/backward.hpp>
#include <kiln/device/cpu/drivers.hpp>
#include <kiln/nn/functional/batch_norm.hpp>
#include <kiln/nn/functional/conv2d.hpp>
#include <kiln/nn/functional/dropout.hpp>
#include <kiln/nn/functional/pool2d.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/indexing.hpp>
#include <kiln/tensor/products.hpp>

#include "support/guarded.hpp"

using namespace kiln;
using support::edge, support::guarded, support::walk;

namespace {

Tensor<float> parameter(const dims& sizes, edge e) {
  Tensor<float> t = guarded<float>(sizes, e);
  t.requires_grad();
  return t;
}
// A pass whose first gradient is guarded as well. What leaves have collected is guarded: the pass adds to it.
template <class... Leaves>
void back(const Tensor<float>& y, edge e, const Leaves&... leaves) {
  ((leaves.state()->autograd_metadata->gradient = guarded<float>(leaves.sizes(), e).state()), ...);
  backward(y, guarded<float>(y.sizes(), e));
}

}  // namespace

TEST_CASE("guard pages: random numbers") {
  const auto draws = [](auto zero, const char* what) {
    using T = decltype(zero);
    walk(what, [](std::int64_t n, edge e) {
      const random_stream from = default_generator().take(static_cast<std::uint64_t>(n) + 1);
      cpu::drivers::fill_uniform(guarded<T>({n}, e).data(), n, from);
      cpu::drivers::fill_normal(guarded<T>({n}, e).data(), n, from);
    });
  };
  draws(float{}, "float");
  draws(double{}, "double");
  draws(half{}, "half");
  walk("integers", [](std::int64_t n, edge e) {
    const random_stream from = default_generator().take(static_cast<std::uint64_t>(n) + 1);
    cpu::drivers::fill_integers(guarded<std::int32_t>({n}, e).data(), n, from, -3, 10);
  });
}

TEST_CASE("guard pages: gradients of maps, with broadcasts and what is drawn within") {
  walk("maps", [](std::int64_t n, edge e) {
    const Tensor<float> x = parameter({3, n}, e), b = parameter({n}, e), c = parameter({3, 1}, e);
    const Tensor<float> y = dropout(where(x > b, x * c, exp(b)));
    back(y, e, x, b, c);
  });
}

TEST_CASE("guard pages: gradients of rows and reductions") {
  walk("rows", [](std::int64_t n, edge e) {
    const Tensor<float> x = parameter({3, n}, e);
    const Tensor<float> y = softmax(x, 1);
    back(y, e, x);
  });
  walk("columns", [](std::int64_t n, edge e) {
    const Tensor<float> x = parameter({3, n}, e);
    const Tensor<float> y = max(x, 0);
    back(y, e, x);
  });
}

TEST_CASE("guard pages: gradients of products") {
  walk("products", [](std::int64_t n, edge e) {
    const std::int64_t k = n > 200 ? 9 : n;
    const Tensor<float> a = parameter({n, k}, e), b = parameter({k, n + 1}, e), row = parameter({n + 1}, e);
    const Tensor<float> y = relu(matmul(a, b) + row);
    back(y, e, a, b, row);
  });
}

TEST_CASE("guard pages: gradients of convolutions, poolings, indexing") {
  walk("windows", [](std::int64_t n, edge e) {
    const std::int64_t side = n > 40 ? 5 : n + 2;
    const Tensor<float> x = parameter({2, 3, side, side}, e), w = parameter({4, 3, 3, 3}, e), b = parameter({4}, e);
    back(conv2d(x, w, b, conv2d_options{.stride = 2, .padding = 1}), e, x, w, b);
    back(max_pool2d(x, 2), e, x);
    back(avg_pool2d(x, 3), e, x);
  });
  walk("indexing", [](std::int64_t n, edge e) {
    Tensor<std::int64_t> index = guarded<std::int64_t>({3}, e);
    index.fill_(n - 1);
    const Tensor<float> x = parameter({n, 3}, e);
    back(Tensor<float>(index_select(x, 0, index)), e, x);
  });
}

TEST_CASE("guard pages: batch norm and its gradients") {
  for (const bool training : {false, true})
    walk("batch norm", [training](std::int64_t n, edge e) {
      const std::int64_t side = n > 40 ? 5 : n + 1;
      const Tensor<float> mean = guarded<float>({3}, e), variance = guarded<float>({3}, e);
      const Tensor<float> x = parameter({2, 3, side, side}, e), w = parameter({3}, e), b = parameter({3}, e);
      back(batch_norm(x, mean, variance, w, b, {.training = training}), e, x, w, b);
    });
}
