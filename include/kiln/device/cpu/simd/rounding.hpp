// SPDX-License-Identifier: BSL-1.0
// Signs, extremes, rounding to integers and square roots of lanes, with PyTorch's rules for NaN.
#pragma once

#include <limits>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/compare.hpp>
#include <kiln/device/cpu/simd/hardware.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<bool, N> isnan(lanes<T, N> a) {
  return a != a;
}
/// Size of every lane. The most negative integer has none and stays what it is.
template <LaneNumber T, int N>
[[gnu::always_inline]] inline lanes<T, N> abs(lanes<T, N> a) {
  if constexpr (std::floating_point<T>) {
    using bits = signed_of<sizeof(T)>;
    return bits_as<T>(bits_as<bits>(a) & lanes<bits, N>(std::numeric_limits<bits>::max()));
  } else if constexpr (std::signed_integral<T>) {
    return where(a < lanes<T, N>(T{0}), -a, a);
  } else {
    return a;
  }
}
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<bool, N> isinf(lanes<T, N> a) {
  return abs(a) == lanes<T, N>(std::numeric_limits<T>::infinity());
}
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<bool, N> isfinite(lanes<T, N> a) {
  return abs(a) < lanes<T, N>(std::numeric_limits<T>::infinity());
}
/// The size of `a` with the sign bit of `b`.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> copysign(lanes<T, N> a, lanes<T, N> b) {
  using bits = signed_of<sizeof(T)>;
  const lanes<bits, N> sign(std::numeric_limits<bits>::min());
  return bits_as<T>((bits_as<bits>(a) & ~sign) | (bits_as<bits>(b) & sign));
}
/// -1, 0 or 1; 0 for both zeros, NaN for NaN.
template <LaneNumber T, int N>
[[gnu::always_inline]] inline lanes<T, N> sign(lanes<T, N> a) {
  const lanes<T, N> zero(T{0}), one(T{1});
  if constexpr (std::floating_point<T>) {
    return where(a > zero, one, where(a < zero, -one, where(isnan(a), a, zero)));
  } else if constexpr (std::signed_integral<T>) {
    return where(a > zero, one, where(a < zero, -one, zero));
  } else {
    return where(a != zero, one, zero);
  }
}

/// `a` where it is a NaN, else `b`.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> nan_or(lanes<T, N> a, lanes<T, N> b) {
  if constexpr (!fits<T, N>)
    return lanes<T, N>(nan_or(a.low, b.low), nan_or(a.high, b.high));
  else if constexpr (requires { hardware::nan_or(a.v, b.v); })
    return lanes<T, N>(static_cast<typename lanes<T, N>::native>(hardware::nan_or(a.v, b.v)));
  else
    return where(isnan(a), a, b);
}
/// The lesser of two lanes; a NaN if either is one.
template <LaneNumber T, int N>
[[gnu::always_inline]] inline lanes<T, N> minimum(lanes<T, N> a, lanes<T, N> b) {
  if constexpr (std::floating_point<T>)
    return nan_or(a, lesser(a, b));
  else
    return where(a < b, a, b);
}
/// The greater of two lanes; a NaN if either is one.
template <LaneNumber T, int N>
[[gnu::always_inline]] inline lanes<T, N> maximum(lanes<T, N> a, lanes<T, N> b) {
  if constexpr (std::floating_point<T>)
    return nan_or(a, greater(a, b));
  else
    return where(a > b, a, b);
}
template <int N>
[[gnu::always_inline]] inline lanes<bool, N> minimum(lanes<bool, N> a, lanes<bool, N> b) {
  return a & b;
}
template <int N>
[[gnu::always_inline]] inline lanes<bool, N> maximum(lanes<bool, N> a, lanes<bool, N> b) {
  return a | b;
}

/// Rounds without the instruction for it: beyond 2^(digits - 1) every number is an integer, and adding that number to a
/// lesser one leaves the nearest integer, ties to even, in its last bits.
template <rounding Way, std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> rounded_by_shifting(lanes<T, N> a) {
  using V = lanes<T, N>;
  const V edge(std::numeric_limits<T>::digits == 24 ? T(0x1p23) : T(0x1p52)), one(T{1});
  const V size = abs(a);
  V near = copysign((size + edge) - edge, a);
  if constexpr (Way == rounding::down) near = where(near > a, near - one, near);
  if constexpr (Way == rounding::up) near = where(near < a, near + one, near);
  if constexpr (Way == rounding::to_zero) near = where(abs(near) > size, abs(near) - one, abs(near));
  return where(size < edge, copysign(near, a), a);
}
template <rounding Way, std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> rounded(lanes<T, N> a) {
  if constexpr (has_rounding) {
    return through(
        [](auto x) __attribute__((always_inline)) { return hardware::rounded<Way>(x); }, a);
  } else {
    return rounded_by_shifting<Way>(a);
  }
}
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> floor(lanes<T, N> a) {
  return rounded<rounding::down>(a);
}
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> ceil(lanes<T, N> a) {
  return rounded<rounding::up>(a);
}
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> trunc(lanes<T, N> a) {
  return rounded<rounding::to_zero>(a);
}
/// To the nearest integer, ties to even.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> round(lanes<T, N> a) {
  return rounded<rounding::nearest_even>(a);
}

/// Square root, correctly rounded.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> sqrt(lanes<T, N> a) {
  return through(
      [](auto x) __attribute__((always_inline)) { return hardware::sqrt(x); }, a);
}
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> reciprocal(lanes<T, N> a) {
  return lanes<T, N>(T{1}) / a;
}
/// 1 / sqrt(a).
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> rsqrt(lanes<T, N> a) {
  using V = lanes<T, N>;
  const V one(T{1}), half(T(0.5));
  if constexpr (has_avx512) {
    // From an estimate y, y / sqrt(1 - e) with e = 1 - a y^2 below 2^-13, by its series.
    const V y = through(
        [](auto x) __attribute__((always_inline)) { return hardware::nearly_rsqrt(x); }, a);
    const V e = fma(a * y, -y, one);
    const V series = sizeof(T) == 4 ? fma(e, V(T(0.375)), half) : fma(fma(e, V(T(0.3125)), V(T(0.375))), e, half);
    return where(isnan(e), y, fma(y * e, series, y));  // at 0 and infinity the estimate is exact and e a NaN
  } else {
    return one / sqrt(a);
  }
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
