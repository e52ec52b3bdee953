// SPDX-License-Identifier: BSL-1.0
// tanh, sinh, cosh and the inverse functions.
#pragma once

#include <cmath>

#include <kiln/device/cpu/simd/exp.hpp>
#include <kiln/device/cpu/simd/log.hpp>
#include <kiln/device/cpu/simd/memory.hpp>

namespace kiln::cpu {

/// Hyperbolic tangent: t / (t + 2) with t = e^(2|x|) - 1, which loses no digits near zero.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> tanh(lanes<T, N> x) {
  using V = lanes<T, N>;
  // Beyond the limit the quotient rounds to 1.
  const V size = lesser(V(sizeof(T) == 4 ? T(9.2) : T(20)), abs(x));
  const V t = expm1_of_limited(size + size);
  return copysign(t / (t + V(T(2))), x);
}

template <std::floating_point T, int N>
inline lanes<T, N> sinh(lanes<T, N> x) {
  return per_lane([](T a) { return std::sinh(a); }, x);
}
template <std::floating_point T, int N>
inline lanes<T, N> cosh(lanes<T, N> x) {
  return per_lane([](T a) { return std::cosh(a); }, x);
}
template <std::floating_point T, int N>
inline lanes<T, N> asinh(lanes<T, N> x) {
  return per_lane([](T a) { return std::asinh(a); }, x);
}
template <std::floating_point T, int N>
inline lanes<T, N> acosh(lanes<T, N> x) {
  return per_lane([](T a) { return std::acosh(a); }, x);
}
template <std::floating_point T, int N>
inline lanes<T, N> atanh(lanes<T, N> x) {
  return per_lane([](T a) { return std::atanh(a); }, x);
}

}  // namespace kiln::cpu
