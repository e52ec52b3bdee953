// SPDX-License-Identifier: BSL-1.0
// tanh, sinh, cosh and the inverse functions.
#pragma once

#include <limits>
#include <numbers>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/exp.hpp>
#include <kiln/device/cpu/simd/log.hpp>
#include <kiln/device/cpu/simd/tanh_table.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// (e^(2r) - 1 - 2r) / r^2 for |r| <= ln 2 / 4.
template <int N>
[[gnu::always_inline]] inline lanes<float, N> exp_twice_tail(lanes<float, N> r) {
  return polynomial(r, 0x1.fffffep+0f, 0x1.5554bp+0f, 0x1.555674p-1f, 0x1.1227f6p-2f, 0x1.6bebf8p-4f);
}
template <int N>
[[gnu::always_inline]] inline lanes<double, N> exp_twice_tail(lanes<double, N> r) {
  return polynomial(r, 0x1p+1, 0x1.5555555555559p+0, 0x1.555555555553ep-1, 0x1.111111110f6aap-2, 0x1.6c16c16c1f17p-4,
                    0x1.a01a01afe9aa7p-6, 0x1.a01a017b9319dp-8, 0x1.71ddf841f2387p-10, 0x1.27e536643d617p-12,
                    0x1.af5ee86fea21p-15, 0x1.1ee8832e2205bp-17);
}

/// Hyperbolic tangent u / (u + 2) of u = e^(2|x|) - 1 = s p + (s - 1) with |x| = n ln 2 / 2 + r, s = 2^n and
/// p = e^(2r) - 1, which loses no digits near zero.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> tanh(lanes<T, N> x) {
#if defined(__AVX512F__)
  if constexpr (std::same_as<T, float> && N == 16) return tanh_by_table(x);
#endif
  using V = lanes<T, N>;
  using bits = typename float_format<T>::bits;
  constexpr bool single = sizeof(T) == 4;
  // Beyond the limit the quotient rounds to 1.
  const V size = lesser(V(single ? T(9.2) : T(20)), abs(x));
  // n and the exponent's bias stand in the low bits of a sum with 1.5 * 2^23 (2^52), from where they go straight into
  // the exponent of s.
  const V shift(single ? T(0x1.8p23 + 127) : T(0x1.8p52 + 1023));
  const V raised = fma(size, V(single ? T(0x1.715476p+1) : T(0x1.71547652b82fep+1)), shift), n = raised - shift;
  // ln 2 / 2 in one part: where n is large enough for its error to count, tanh hardly depends on r.
  const V r = fma(n, V(single ? T(-0x1.62e43p-2) : T(-0x1.62e42fefa39efp-2)), size);
  const V s = bits_as<T>(shift_left<float_format<T>::fraction>(bits_as<bits>(raised)));
  const V u = fma(s, fma(r * r, exp_twice_tail(r), r + r), s - V(T(1)));
  return copysign(u / (u + V(T(2))), x);
}

/// (e^|x| - e^-|x|) / 2 with the sign of x, from t = e^|x| - 1: (t + t / (t + 1)) / 2.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> sinh(lanes<T, N> x) {
  using V = lanes<T, N>;
  constexpr bool single = sizeof(T) == 4;
  const V size = abs(x), half(T(0.5)), one(T(1));
  // Near the end of the range e^|x| overflows before its half does.
  const V inside = lesser(V(single ? T(88) : T(709)), size);
  const V t = expm1_of_limited(inside), root = exp(size * half);
  const V y = where(size > inside, half * root * root, half * (t + t / (t + one)));
  return copysign(y, x);
}
/// (e^x + e^-x) / 2.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> cosh(lanes<T, N> x) {
  using V = lanes<T, N>;
  const V size = abs(x), half(T(0.5)), root = exp(size * half);
  const V inside = lesser(V(sizeof(T) == 4 ? T(88) : T(709)), size), e = exp(inside);
  return where(size > inside, half * root * root, fma(half, e, half / e));
}

/// log(x + sqrt(x^2 + 1)), through log1p so that small x keep their digits.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> asinh(lanes<T, N> x) {
  using V = lanes<T, N>;
  const V size = abs(x), one(T(1));
  const auto large = size > V(sizeof(T) == 4 ? T(0x1p12) : T(0x1p27));
  const V square = size * size;
  const V near = size + square / (one + sqrt(square + one));
  // For large x it is log(2x): the 1 does not count.
  const V y = log1p(where(large, size - one, near)) + where(large, V(std::numbers::ln2_v<T>), V(T(0)));
  return copysign(y, x);
}
/// log(x + sqrt(x^2 - 1)); NaN below 1.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> acosh(lanes<T, N> x) {
  using V = lanes<T, N>;
  const V one(T(1)), t = x - one;
  const auto large = x > V(sizeof(T) == 4 ? T(0x1p13) : T(0x1p28));
  const V y = log1p(where(large, t, t + sqrt(fma(t, t, t + t))));
  const V inside = where(large, y + V(std::numbers::ln2_v<T>), y);
  return where(x < one, V(std::numeric_limits<T>::quiet_NaN()), inside);
}
/// log((1 + x) / (1 - x)) / 2; NaN outside [-1, 1].
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> atanh(lanes<T, N> x) {
  using V = lanes<T, N>;
  const V size = abs(x), half(T(0.5));
  return copysign(half * log1p((size + size) / (V(T(1)) - size)), x);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
