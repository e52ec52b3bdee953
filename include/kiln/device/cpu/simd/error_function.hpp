// SPDX-License-Identifier: BSL-1.0
// erf and erfc.
#pragma once

#include <cmath>

#include <kiln/device/cpu/simd/memory.hpp>

namespace kiln::cpu {

template <std::floating_point T, int N>
inline lanes<T, N> erf(lanes<T, N> x) {
  return per_lane([](T a) { return std::erf(a); }, x);
}
template <std::floating_point T, int N>
inline lanes<T, N> erfc(lanes<T, N> x) {
  return per_lane([](T a) { return std::erfc(a); }, x);
}

}  // namespace kiln::cpu
