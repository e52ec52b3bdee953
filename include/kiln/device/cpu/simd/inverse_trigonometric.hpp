// SPDX-License-Identifier: BSL-1.0
// asin, acos, atan, atan2, in radians.
#pragma once

#include <cmath>

#include <kiln/device/cpu/simd/memory.hpp>

namespace kiln::cpu {

template <std::floating_point T, int N>
inline lanes<T, N> asin(lanes<T, N> x) {
  return per_lane([](T a) { return std::asin(a); }, x);
}
template <std::floating_point T, int N>
inline lanes<T, N> acos(lanes<T, N> x) {
  return per_lane([](T a) { return std::acos(a); }, x);
}
template <std::floating_point T, int N>
inline lanes<T, N> atan(lanes<T, N> x) {
  return per_lane([](T a) { return std::atan(a); }, x);
}
/// The angle of the point (x, y).
template <std::floating_point T, int N>
inline lanes<T, N> atan2(lanes<T, N> y, lanes<T, N> x) {
  return per_lane([](T a, T b) { return std::atan2(a, b); }, y, x);
}

}  // namespace kiln::cpu
