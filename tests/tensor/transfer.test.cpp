// SPDX-License-Identifier: BSL-1.0
// to(): on one device a tensor stays what it is. What crosses devices is tested where there is a second one
// (tensor/cuda.test.cpp).
#include <doctest/doctest.h>

#include <kiln/autograd/backward.hpp>
#include <kiln/autograd/node.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/transfer.hpp>

using namespace kiln;

TEST_CASE("transfer: to the device where it is, a tensor is itself, with its history") {
  Tensor<float> x{1, 2};
  x.requires_grad();
  CHECK(x.to<Cpu>().state() == x.state());
  CHECK(x.t().to(Cpu{}).needs_grad());
  CHECK(x.device() == Cpu{});
}

TEST_CASE("transfer: an expression is where its first tensor is, numbers are nowhere") {
  const Tensor<float> x{1, 2};
  CHECK(detail::device_of(1.0f - sum(2.0f * x)) == Cpu{});
  CHECK(detail::device_of(where(x > 0, 1.0f, 2.0f)) == Cpu{});
}

TEST_CASE("transfer: to<T>() is another element type, through which gradients flow") {
  Tensor<float> x{1.5f, -2.5f};
  x.requires_grad();
  Tensor<double> wide = x.to<double>();
  wide *= 3;
  backward(sum(wide));
  CHECK(wide(1) == -7.5);
  CHECK(x.grad()(0) == 3);
  CHECK(x.to<float>().state() == x.state());
  CHECK(x.to(std::int64_t{})(1) == -2);
  CHECK((x * 2).to<double>()(0) == 3);
}
