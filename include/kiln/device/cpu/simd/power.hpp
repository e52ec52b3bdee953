// SPDX-License-Identifier: BSL-1.0
// pow and hypot.
#pragma once

#include <cmath>

#include <kiln/device/cpu/simd/memory.hpp>

namespace kiln::cpu {

template <std::floating_point T, int N>
inline lanes<T, N> pow(lanes<T, N> x, lanes<T, N> y) {
  return per_lane([](T a, T b) { return std::pow(a, b); }, x, y);
}
template <std::floating_point T, int N>
inline lanes<T, N> hypot(lanes<T, N> x, lanes<T, N> y) {
  return per_lane([](T a, T b) { return std::hypot(a, b); }, x, y);
}

}  // namespace kiln::cpu
