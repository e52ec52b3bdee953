// SPDX-License-Identifier: BSL-1.0
// What kernels of a program share: steps as wide as the widest type allows, slots, and kept values.
#include <doctest/doctest.h>

#include <kiln/device/cpu/kernel/kernel_layout.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/tensor.hpp>

using namespace kiln;

namespace {
template <class E>
using layout_of = cpu::kernel_layout<detail::value_program<E>>;
using F = Tensor<float>;
using D = Tensor<double>;
}  // namespace

TEST_CASE("kernel_layout: a step is a register of the widest type that takes part") {
  constexpr int bytes = cpu::vector_bytes;
  CHECK(layout_of<decltype(F() + F())>::width == bytes / 4);
  CHECK(layout_of<decltype(F() + D())>::width == bytes / 8);
  CHECK(layout_of<decltype(Tensor<std::uint8_t>() + Tensor<std::uint8_t>())>::width == bytes);
  CHECK(layout_of<decltype(Tensor<half>() + Tensor<half>())>::width == bytes / 4);  // computed in float
}

TEST_CASE("kernel_layout: one slot for each place of a tensor, and softmax keeps its exponentials") {
  CHECK(layout_of<decltype(F() * F() + F())>::slots == 3);
  CHECK(layout_of<decltype(F() * F() + F())>::kept_count == 0);
  CHECK(layout_of<decltype(softmax(F(), -1))>::kept_count == 1);
}
