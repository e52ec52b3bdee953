// SPDX-License-Identifier: BSL-1.0
// Horizontal reductions: one value from all lanes, by halves.
#pragma once

#include <limits>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/rounding.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// The lanes combined by the associative function `f` of lanes, halves first.
template <class F, LaneNumber T, int N>
[[gnu::always_inline]] inline T reduce(F f, lanes<T, N> a) {
  if constexpr (N == 2) {
    const lanes<T, N> swapped(picked<1>(a.v, a.v, std::make_integer_sequence<int, 2>{}));
    return f(a, swapped).v[0];
  } else {
    return reduce(f, f(low_half(a), high_half(a)));
  }
}

/// Sum of the lanes, pairwise; integers wrap around.
template <LaneNumber T, int N>
[[gnu::always_inline]] inline T reduce_add(lanes<T, N> a) {
  return reduce(
      [](auto x, auto y) __attribute__((always_inline)) { return x + y; }, a);
}
/// Product of the lanes; integers wrap around.
template <LaneNumber T, int N>
[[gnu::always_inline]] inline T reduce_mul(lanes<T, N> a) {
  return reduce(
      [](auto x, auto y) __attribute__((always_inline)) { return x * y; }, a);
}
/// The least or the greatest lane by `f`, which is asked for NaNs once, not with each half.
template <class F, class T, int N>
[[gnu::always_inline]] inline T reduce_beside_nans(F f, lanes<T, N> a) {
  const T found = reduce(f, a);
  return any(isnan(a)) ? std::numeric_limits<T>::quiet_NaN() : found;
}
/// Least lane; a NaN if there is one.
template <LaneNumber T, int N>
[[gnu::always_inline]] inline T reduce_min(lanes<T, N> a) {
  if constexpr (std::floating_point<T>)
    return reduce_beside_nans([](auto x, auto y) __attribute__((always_inline)) { return lesser(x, y); }, a);
  else
    return reduce([](auto x, auto y) __attribute__((always_inline)) { return minimum(x, y); }, a);
}
/// Greatest lane; a NaN if there is one.
template <LaneNumber T, int N>
[[gnu::always_inline]] inline T reduce_max(lanes<T, N> a) {
  if constexpr (std::floating_point<T>)
    return reduce_beside_nans([](auto x, auto y) __attribute__((always_inline)) { return greater(x, y); }, a);
  else
    return reduce([](auto x, auto y) __attribute__((always_inline)) { return maximum(x, y); }, a);
}
/// Whether any lane is true.
template <int N>
[[gnu::always_inline]] inline bool reduce_any(lanes<bool, N> a) {
  return any(a);
}
/// Whether every lane is true.
template <int N>
[[gnu::always_inline]] inline bool reduce_all(lanes<bool, N> a) {
  return all(a);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
