// SPDX-License-Identifier: BSL-1.0
// Convolution, pooling and batch norm of Tensor<T, Cuda> over the stand-in: sums and gradients that can be had by hand.
#include <kiln/cuda.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace kiln;

namespace {

using on_gpu = Tensor<float, Cuda>;
using list = std::vector<double>;

list values(const on_gpu& x) {
  const Tensor<float> here = x.to(Cpu{});
  return {here.span().begin(), here.span().end()};
}

}  // namespace

TEST_CASE("cuda convolution: values and all gradients of a small image") {
  emulate::stand_in();
  on_gpu x = arange<float, Cuda>(9).reshape({1, 1, 3, 3}), w = on_gpu{1, 0, 0, -1}.reshape({1, 1, 2, 2}), b{0.5f};
  x.requires_grad(), w.requires_grad(), b.requires_grad();
  const on_gpu y = conv2d(x, w, b);
  CHECK(values(y) == list{-3.5, -3.5, -3.5, -3.5});
  backward(sum(y));
  CHECK(values(b.grad()) == list{4});
  CHECK(values(w.grad()) == list{0 + 1 + 3 + 4, 1 + 2 + 4 + 5, 3 + 4 + 6 + 7, 4 + 5 + 7 + 8});
  CHECK(values(x.grad()) == list{1, 1, 0, 1, 0, -1, 0, -1, -1});
}

TEST_CASE("cuda pooling: maxima and averages, and where their gradients go") {
  emulate::stand_in();
  on_gpu x = on_gpu{{1, 5, 2, 0}, {3, 4, 8, 7}}.reshape({1, 1, 2, 4});
  x.requires_grad();
  CHECK(values(max_pool2d(x, 2)) == list{5, 8});
  CHECK(values(avg_pool2d(x, 2)) == list{3.25, 4.25});
  backward(sum(max_pool2d(x, 2)));
  CHECK(values(x.grad()) == list{0, 1, 0, 0, 0, 0, 1, 0});
  x.zero_grad();
  backward(sum(avg_pool2d(x, 2)));
  CHECK(values(x.grad()) == list(8, 0.25));
}

TEST_CASE("cuda batch norm: each channel gets mean 0 and variance 1, running statistics follow") {
  emulate::stand_in();
  const on_gpu x{{1, 10}, {3, 30}};
  on_gpu mean = zeros<float, Cuda>({2}), variance = ones<float, Cuda>({2});
  const auto y = values(batch_norm(x, mean, variance, on_gpu{1, 1}, on_gpu{0, 0}, {.training = true}));
  for (const std::size_t i : {0u, 1u}) CHECK(y[i] == doctest::Approx(-1).epsilon(1e-4));
  for (const std::size_t i : {2u, 3u}) CHECK(y[i] == doctest::Approx(1).epsilon(1e-4));
  CHECK(values(mean)[1] == doctest::Approx(2));        // a tenth of 20
  CHECK(values(variance)[0] == doctest::Approx(1.1));  // 0.9 + a tenth of the unbiased 2
}
