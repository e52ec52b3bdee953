// SPDX-License-Identifier: BSL-1.0
// polygamma(n, x), the n-th derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x) with Hurwitz' zeta function, the sum of
// (x + k)^-(n+1) over k >= 0. Lane by lane, in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/gamma.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// c^s times Hurwitz' zeta function for s >= 2 and x > 0: terms up to x + k = 16 + s, then the Euler-Maclaurin formula
/// (Abramowitz and Stegun 23.1.30).
inline double hurwitz_zeta(double s, double x, double c = 1) {
  double sum = 0;
  for (; x < 16 + s; x += 1) {
    const double term = std::pow(x / c, -s);
    sum += term;
    if (term < sum * 1e-18) return sum;
  }
  const double power = std::pow(x / c, -s);
  sum += power * (x / (s - 1) + 0.5);
  // Bernoulli numbers B(2k) by (2k)!.
  constexpr double coefficients[] = {1.0 / 12,          -1.0 / 720,
                                     1.0 / 30240,       -1.0 / 1209600,
                                     1.0 / 47900160,    -691.0 / 1307674368000,
                                     1.0 / 74724249600, -3617.0 / 10670622842880000.0};
  double factor = s * power / x, order = s;
  for (const double coefficient : coefficients) {
    sum += coefficient * factor;
    factor *= (order + 1) * (order + 2) / (x * x);
    order += 2;
  }
  return sum;
}

/// polygamma(n, x) of one number; infinite at the poles. NaN unless n is an integer from 0 to 170 (171! overflows).
inline double polygamma_of(double n, double x) {
  if (n == 0) return digamma_of(x);
  if (!(n > 0 && n <= 170) || n != std::floor(n)) return std::numeric_limits<double>::quiet_NaN();
  const double s = n + 1, sign = std::fmod(n, 2) == 1 ? 1 : -1;
  double zeta = 0;
  if (x > 0) {
    if (std::isinf(x)) return sign * 0.0;
    // A power of two near x is taken out: the powers of a large x would underflow before n! makes up for it.
    const int exponent = std::max(std::ilogb(x), 0);
    const double scaled = std::tgamma(s) * hurwitz_zeta(s, x, std::ldexp(1.0, exponent));
    return sign * std::ldexp(scaled, -static_cast<int>(s) * exponent);
  } else if (std::isfinite(x) && x == std::floor(x)) {
    zeta = std::numeric_limits<double>::infinity();
  } else {
    // The sum over x + k for all integers k, less that over k < 0, whose terms are those of 1 - x, 2 - x, ... but for a
    // sign. The first two come first: they may cancel.
    zeta =
        hurwitz_zeta(s, x - std::floor(x)) + sign * hurwitz_zeta(s, std::ceil(x) - x) - sign * hurwitz_zeta(s, 1 - x);
  }
  return sign * std::tgamma(s) * zeta;
}

/// The n-th derivative of digamma.
template <std::floating_point T, int N>
inline lanes<T, N> polygamma(lanes<T, N> n, lanes<T, N> x) {
  return per_lane([](T a, T b) { return static_cast<T>(polygamma_of(static_cast<double>(a), static_cast<double>(b))); },
                  n, x);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
