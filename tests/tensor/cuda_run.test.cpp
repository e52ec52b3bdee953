// SPDX-License-Identifier: BSL-1.0
// Jobs of the tensor layer on the stand-in: what a program is without kernels, and sums over nothing.
#include <kiln/cuda.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace kiln;

TEST_CASE("cuda run: a program is its tape, and how many slots and reductions it has") {
  using row = decltype(sum(std::declval<Tensor<float>>() * std::declval<Tensor<float>>(), 1));
  constexpr const common::program_view& program = detail::cuda_program<detail::value_program<row>>;
  CHECK(program.slots == 2);
  CHECK(program.reductions == 1);
  CHECK(program.reduction_rooted);
}

TEST_CASE("cuda run: gradients that are sums over no elements are zeros, or stay what they were") {
  const auto& device = emulate::stand_in();
  auto w = full<float, Cuda>({3}, 2.0f);
  w.requires_grad();
  const auto none = zeros<float, Cuda>({0, 3});
  backward(sum(none * w));
  const auto zero = w.grad().to<Cpu>();
  CHECK(std::vector<float>(zero.span().begin(), zero.span().end()) == std::vector<float>{0, 0, 0});
  backward(sum(w * 5.0f));
  cuda::synchronize({});
  device.reset();
  backward(sum(none * w));
  const auto kept = w.grad().to<Cpu>();
  CHECK(std::vector<float>(kept.span().begin(), kept.span().end()) == std::vector<float>{5, 5, 5});
}
