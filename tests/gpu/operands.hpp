// SPDX-License-Identifier: BSL-1.0
// For tests/gpu: support/device_operands.hpp on Cuda, and how much of it is tried.
#pragma once

#include <kiln/cuda.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "support/device_operands.hpp"

namespace gpu_test {

using namespace kiln;
using device_test::distance, device_test::drawing, device_test::each_index, device_test::number, device_test::rounded,
    device_test::to_host, device_test::tolerance;

template <class T>
using on_device = Tensor<T, Cuda>;
template <class T>
using operand = device_test::operand<T, Cuda>;

/// On a GPU everything is tried; on the stand-in, where a kernel takes 0.2 s to compile, a part. KILN_TEST_SMALL=1 asks
/// for the part on a GPU too, for tools that slow it down.
inline bool everything() {
  static const bool all = emulate::on_gpu() && std::getenv("KILN_TEST_SMALL") == nullptr;
  return all;
}

/// scripts/gpu compiles every type in; elsewhere a part must do, since each expression and type takes a second.
#ifdef KILN_TEST_GPU_FULL
inline constexpr bool all_types = true;
#else
inline constexpr bool all_types = false;
#endif

template <class T>
on_device<T> to_device(const std::vector<double>& values, const dims& sizes) {
  return device_test::to_device<Cuda, T>(values, sizes);
}
template <class T>
operand<T> drawn_operand(drawing& draw, const dims& domain, double low, double high, bool needs_grad,
                         bool plain = false) {
  return device_test::drawn_operand<Cuda, T>(draw, domain, low, high, needs_grad, plain);
}
/// Some thousand elements on the stand-in, up to 100 times as many on a GPU.
inline std::int64_t most_elements() {
  return everything() ? 200'000 : 2'000;
}
inline dims drawn_domain(drawing& draw, int most_axes) {
  return device_test::drawn_domain(draw, most_axes, most_elements());
}

}  // namespace gpu_test
