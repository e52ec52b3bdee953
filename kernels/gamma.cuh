// SPDX-License-Identifier: BSL-1.0
// The logarithm of the gamma function and its derivatives, in double as on the CPU: these functions are rare, and float
// would lose its digits near their zeros.
#pragma once

#include <kernels/math.cuh>

namespace kiln::kernels {

__device__ inline double lgamma(double x) {
  return ::lgamma(x);
}
__device__ inline float lgamma(float x) {
  return float(::lgamma(double(x)));
}

/// By recurrence up to 10 and the asymptotic series (Abramowitz and Stegun 6.3.5, 6.3.18); below zero by reflection
/// (6.3.7). As in PyTorch: -inf at 0, inf at -0.0, NaN at the other poles.
__device__ inline double digamma(double x) {
  if (x == 0) return -1 / x;
  if (x == -infinity<double>()) return nan<double>();
  constexpr double pi = 3.14159265358979323846;
  double sum = 0;
  if (x < 0) {
    if (x == floor(x)) return nan<double>();
    sum = -pi / tan(pi * (x - round(x)));  // the distance to the nearest integer is exact
    x = 1 - x;
  }
  for (; x < 10; x += 1) sum -= 1 / x;
  const double z = 1 / (x * x);
  double series = 1.0 / 12;
  series = 691.0 / 32760 - z * series;
  series = 1.0 / 132 - z * series;
  series = 1.0 / 240 - z * series;
  series = 1.0 / 252 - z * series;
  series = 1.0 / 120 - z * series;
  series = 1.0 / 12 - z * series;
  return sum + log(x) - 0.5 / x - z * series;
}
__device__ inline float digamma(float x) {
  return float(digamma(double(x)));
}

/// c^s times Hurwitz' zeta function for s >= 2 and x > 0: terms up to x + k = 16 + s, then the Euler-Maclaurin formula
/// (Abramowitz and Stegun 23.1.30).
__device__ inline double hurwitz_zeta(double s, double x, double c = 1) {
  double sum = 0;
  for (; x < 16 + s; x += 1) {
    const double term = pow(x / c, -s);
    sum += term;
    if (term < sum * 1e-18) return sum;
  }
  // Bernoulli numbers B(2k) by (2k)!.
  constexpr double coefficients[] = {1.0 / 12,          -1.0 / 720,
                                     1.0 / 30240,       -1.0 / 1209600,
                                     1.0 / 47900160,    -691.0 / 1307674368000.0,
                                     1.0 / 74724249600.0, -3617.0 / 10670622842880000.0};
  const double power = pow(x / c, -s);
  sum += power * (x / (s - 1) + 0.5);
  double factor = s * power / x, order = s;
  for (int k = 0; k < 8; ++k) {
    sum += coefficients[k] * factor;
    factor *= (order + 1) * (order + 2) / (x * x);
    order += 2;
  }
  return sum;
}

/// The n-th derivative of digamma; infinite at the poles. NaN unless n is an integer from 0 to 170 (171! overflows).
__device__ inline double polygamma(double n, double x) {
  if (n == 0) return digamma(x);
  if (!(n > 0 && n <= 170) || n != floor(n)) return nan<double>();
  const double s = n + 1, turn = fmod(n, 2.0) == 1 ? 1 : -1;
  double zeta;
  if (x > 0) {
    if (isinf(x)) return turn * 0.0;
    // A power of two near x is taken out: the powers of a large x would underflow before n! makes up for it.
    const double exponent = x < 2 ? 0.0 : floor(::log2(x));
    const double scaled = ::tgamma(s) * hurwitz_zeta(s, x, ::exp2(exponent));
    const double back = ::exp2(-0.5 * s * exponent);  // twice, as it may underflow where the result does not
    return turn * (scaled * back * back);
  } else if (isfinite(x) && x == floor(x)) {
    zeta = infinity<double>();
  } else {
    // The sum over x + k for all integers k, less that over k < 0; the two that may cancel come first.
    zeta = hurwitz_zeta(s, x - floor(x)) + turn * hurwitz_zeta(s, ceil(x) - x) - turn * hurwitz_zeta(s, 1 - x);
  }
  return turn * ::tgamma(s) * zeta;
}
__device__ inline float polygamma(float n, float x) {
  return float(polygamma(double(n), double(x)));
}

}  // namespace kiln::kernels
