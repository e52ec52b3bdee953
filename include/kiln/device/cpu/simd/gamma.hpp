// SPDX-License-Identifier: BSL-1.0
// lgamma, log|Gamma(x)|, and digamma, its derivative. Lane by lane.
#pragma once

#include <math.h>  // lgamma_r

#include <cmath>
#include <limits>
#include <numbers>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/memory.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// log|Gamma(x)| of one number. std::lgamma writes a global sign, which is a race between threads.
inline double log_gamma(double x) {
#if defined(__GLIBC__)
  int sign_of_gamma = 0;
  return ::lgamma_r(x, &sign_of_gamma);
#else
  return std::lgamma(x);
#endif
}

/// The logarithmic derivative of Gamma at one number, by recurrence up to 10 and the asymptotic series (Abramowitz and
/// Stegun 6.3.5, 6.3.18); below zero by reflection (6.3.7). As in PyTorch: -inf at 0, inf at -0.0, NaN at the other
/// poles.
inline double digamma_of(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x == -std::numeric_limits<double>::infinity()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    // tan has period pi: the distance to the nearest integer keeps its argument small and exact.
    sum = -std::numbers::pi / std::tan(std::numbers::pi * (x - std::nearbyint(x)));
    x = 1 - x;
  }
  while (x < 10) {
    sum -= 1 / x;
    x += 1;
  }
  const double z = 1 / (x * x);
  const double series =
      z *
      (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return sum + std::log(x) - 0.5 / x - series;
}

/// log|Gamma(x)|.
template <std::floating_point T, int N>
inline lanes<T, N> lgamma(lanes<T, N> x) {
  return per_lane([](T a) { return static_cast<T>(log_gamma(static_cast<double>(a))); }, x);
}
/// The derivative of lgamma.
template <std::floating_point T, int N>
inline lanes<T, N> digamma(lanes<T, N> x) {
  return per_lane([](T a) { return static_cast<T>(digamma_of(static_cast<double>(a))); }, x);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
