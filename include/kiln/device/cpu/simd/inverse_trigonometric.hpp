// SPDX-License-Identifier: BSL-1.0
// asin, acos, atan, atan2, in radians: minimax polynomials of our own on [0, 1/2] and [0, tan(pi/8)], to which
// asin(x) = pi/2 - 2 asin(sqrt((1 - x)/2)) and atan(t) = pi/4 + atan((t - 1)/(t + 1)) bring the rest.
#pragma once

#include <limits>
#include <numbers>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/polynomial.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// pi/2 = high + low.
template <class T>
inline constexpr T half_pi_high = sizeof(T) == 4 ? T(0x1.921fb6p+0) : T(0x1.921fb54442d18p+0);
template <class T>
inline constexpr T half_pi_low = sizeof(T) == 4 ? T(-0x1.777a5cp-25) : T(0x1.1a62633145c07p-54);

/// asin(x) - x for 0 <= x <= 1/2; z = x^2.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> asin_tail(lanes<T, N> x, lanes<T, N> z) {
  if constexpr (sizeof(T) == 4) {
    return x * z * polynomial(z, 0x1.5555c8p-3f, 0x1.3301ccp-4f, 0x1.7480dcp-5f, 0x1.8c0cc6p-6f, 0x1.59861ep-5f);
  } else {
    return x * z *
           polynomial(z, 0x1.555555555538ep-3, 0x1.333333336ecadp-4, 0x1.6db6db4247f1fp-5, 0x1.f1c72c49f2acbp-6,
                      0x1.6e89f299ee7d2p-6, 0x1.1c6bfb51c318ep-6, 0x1.c6fbb84ebedcep-7, 0x1.8ed0b1dd1c12ap-7,
                      0x1.ab56153edd0b5p-8, 0x1.404961f6412d2p-6, -0x1.0a5ab35aaee1dp-6, 0x1.059cbab55cdfap-5);
  }
}
/// The angle asin(s), s = |x| or, where |x| > 1/2 (`far`), s = sqrt((1 - |x|)/2); in two parts.
template <class V, int N>
struct small_angle {
  V s, tail;
  lanes<bool, N> far;
};
template <std::floating_point T, int N>
[[gnu::always_inline]] inline small_angle<lanes<T, N>, N> reduced_asin(lanes<T, N> size) {
  using V = lanes<T, N>;
  const auto far = size > V(T(0.5));
  const V z = where(far, fma(size, V(T(-0.5)), V(T(0.5))), size * size), s = where(far, sqrt(z), size);
  return {s, asin_tail(s, z), far};
}

/// Inverse sine; NaN outside [-1, 1].
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> asin(lanes<T, N> x) {
  using V = lanes<T, N>;
  const auto [s, tail, far] = reduced_asin(abs(x));
  const V two(T(2));
  const V turned = V(half_pi_high<T>) - (two * s - (V(half_pi_low<T>) - two * tail));
  return copysign(where(far, turned, s + tail), x);
}
/// Inverse cosine; NaN outside [-1, 1].
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> acos(lanes<T, N> x) {
  using V = lanes<T, N>;
  const auto [s, tail, far] = reduced_asin(abs(x));
  const auto negative = x < V(T(0));
  const V high(half_pi_high<T>), low(half_pi_low<T>), two(T(2));
  const V signed_s = copysign(s, x), signed_tail = copysign(tail, x);
  const V near = high - (signed_s - (low - signed_tail));
  const V angle = two * (s + tail);
  const V beyond = where(negative, two * high - (two * s - (two * low - two * tail)), angle);
  return where(far, beyond, near);
}

/// atan of |t| <= tan(pi/8).
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> atan_of_reduced(lanes<T, N> t) {
  const auto z = t * t;
  if constexpr (sizeof(T) == 4) {
    return fma(t * z, polynomial(z, -0x1.55554ap-2f, 0x1.999188p-3f, -0x1.23b3f8p-3f, 0x1.b1da04p-4f, -0x1.f18cf8p-5f),
               t);
  } else {
    return fma(t * z,
               polynomial(z, -0x1.555555555553cp-2, 0x1.9999999995698p-3, -0x1.24924922a24d5p-3, 0x1.c71c70e1cca3bp-4,
                          -0x1.745cf86281c67p-4, 0x1.3b1110a3d1e71p-4, -0x1.10eb57bb2c37ap-4, 0x1.df09c82123a44p-5,
                          -0x1.9cb9c4991e06ep-5, 0x1.3795d16db1c49p-5, -0x1.24dda7f81f05cp-6),
               t);
  }
}

/// Inverse tangent.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> atan(lanes<T, N> x) {
  using V = lanes<T, N>;
  const V size = abs(x), one(T(1)), zero(T(0)), high(half_pi_high<T>), low(half_pi_low<T>), half(T(0.5));
  const auto middle = size > V(T(0.41421356237309503)), far = size > V(T(2.414213562373095));
  const V top = where(far, -one, where(middle, size - one, size));
  const V bottom = where(far, size, where(middle, size + one, one));
  const V base = where(far, high, where(middle, half * high, zero));
  const V base_low = where(far, low, where(middle, half * low, zero));
  return copysign(base + (atan_of_reduced(top / bottom) + base_low), x);
}

/// The angle of the point (x, y) in [-pi, pi], with the signs of zeros and the infinities as in C.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> atan2(lanes<T, N> y, lanes<T, N> x) {
  using V = lanes<T, N>;
  const V one(T(1)), zero(T(0)), two(T(2)), high(half_pi_high<T>), low(half_pi_low<T>), half(T(0.5));
  const V ax = abs(x), ay = abs(y);
  const V most = greater(ax, ay), least = lesser(ax, ay);
  // 0/0 and inf/inf are the angles of (0, 0) and of the diagonal.
  V t = where(most == zero, zero, where(least == V(std::numeric_limits<T>::infinity()), one, least / most));
  const auto middle = t > V(T(0.41421356237309503));
  t = where(middle, (t - one) / (t + one), t);
  // In the order of the nearest multiple of pi/4, so that one sum of two parts gives the angle.
  const auto steep = ay > ax;
  const auto left = copysign(one, x) < zero;
  V angle = atan_of_reduced(t), base = where(middle, half, zero);  // in units of pi/2
  angle = where(steep, -angle, angle);
  base = where(steep, one - base, base);
  angle = where(left, -angle, angle);
  base = where(left, two - base, base);
  const V sum = fma(base, high, fma(base, low, angle));
  return where(isnan(x) | isnan(y), x + y, copysign(sum, y));
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
