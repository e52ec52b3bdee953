// SPDX-License-Identifier: BSL-1.0
// log, log2, log10, log1p. x = 2^e m with sqrt(1/2) <= m < sqrt(2), then a minimax polynomial of f = m - 1 (float) or
// of s = f / (2 + f) (double; the form of FreeBSD's e_log.c). The coefficients are our own, by the Remez algorithm.
#pragma once

#include <limits>
#include <numbers>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/polynomial.hpp>
#include <kiln/device/cpu/simd/rounded_here.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// x = 2^e (1 + f).
template <class V>
struct split_at_one {
  V e, f;
};
/// The splitting by integer arithmetic, for positive finite x.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline split_at_one<lanes<T, N>> split_by_bits(lanes<T, N> x) {
  using V = lanes<T, N>;
  using bits = typename float_format<T>::bits;
  using B = lanes<bits, N>;
  constexpr int fraction = float_format<T>::fraction;
  constexpr T up = sizeof(T) == 4 ? T(0x1p24) : T(0x1p53), up_log = sizeof(T) == 4 ? T(24) : T(53);
  constexpr bits low = std::bit_cast<bits>(sizeof(T) == 4 ? T(0x1.6a09e6p-1) : T(0x1.6a09e667f3bcdp-1));
  constexpr bits mask = (bits{1} << fraction) - 1;
  // Subnormal numbers are brought into the normal range first.
  const auto small = x < V(std::numeric_limits<T>::min());
  const B all = bits_as<bits>(where(small, x * V(up), x)) + B((float_format<T>::bias << fraction) - low);
  const V m = bits_as<T>((all & B(mask)) + B(low));
  // The biased exponent becomes a number by being the last bits of 2^23 (2^52).
  constexpr T carrier = static_cast<T>(bits{1} << fraction);
  const V biased = bits_as<T>(shift_right<fraction>(all) | B(std::bit_cast<bits>(carrier)));
  const V shift = where(small, V(carrier + T(float_format<T>::bias) + up_log), V(carrier + T(float_format<T>::bias)));
  return {biased - shift, m - V(T(1))};
}

/// Splits positive finite x. For others the logarithm needs `mended_log`, unless the hardware splits (`has_avx512`): it
/// gives the e and f that make the formula right at 0, infinity, NaN and below zero.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline split_at_one<lanes<T, N>> split(lanes<T, N> x) {
  using V = lanes<T, N>;
  if constexpr (has_avx512) {
    const V e = through(
        [](auto v) __attribute__((always_inline)) { return hardware::exponent(v); }, x);
    // The mantissa of -0.0 is -1, but its logarithm is that of zero.
    const V m = abs(through(
        [](auto v) __attribute__((always_inline)) { return hardware::mantissa(v); }, x));
    const V one(T(1));
    const auto above = m > V(std::numbers::sqrt2_v<T>);
    return {where(above, e + one, e), where(above, m * V(T(0.5)), m) - one};
  } else {
    return split_by_bits(x);
  }
}

/// The parts of log(1 + f) = f - rest.
template <int N>
[[gnu::always_inline]] inline lanes<float, N> log_rest(lanes<float, N> f) {
  using V = lanes<float, N>;
  const V p = polynomial(f, 0x1.555554p-2f, -0x1.00022ap-2f, 0x1.99a014p-3f, -0x1.547128p-3f, 0x1.22d816p-3f,
                         -0x1.0d8ecep-3f, 0x1.056f8ap-3f, -0x1.38b43cp-4f);
  return rounded_here(f * f * fma(-f, p, V(0.5f)));
}
template <int N>
[[gnu::always_inline]] inline lanes<double, N> log_rest(lanes<double, N> f) {
  using V = lanes<double, N>;
  const V s = f / (V(2.0) + f), z = s * s, half_square = rounded_here(V(0.5) * f * f);
  const V p = z * polynomial(z, 0x1.5555555555593p-1, 0x1.999999997fb35p-2, 0x1.24924942177ecp-2, 0x1.c71c51e80b3f5p-3,
                             0x1.74664629b05e5p-3, 0x1.39a0f534e2d17p-3, 0x1.2f0d8d5068a84p-3);
  return fma(-s, half_square + rounded_here(p), half_square);
}

/// Puts right the results for x that `split` can't take: -inf at 0, NaN below, inf and NaN as they are.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> mended_log(lanes<T, N> x, lanes<T, N> y) {
  using V = lanes<T, N>;
  using limits = std::numeric_limits<T>;
  const V zero(T(0));
  const V below = where(x == zero, V(-limits::infinity()), V(limits::quiet_NaN()));
  return where(x > zero, where(x < V(limits::infinity()), y, x), below);
}

/// `y`, mended where the hardware's split has not done it.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> log_unless_split(lanes<T, N> x, lanes<T, N> y) {
  if constexpr (has_avx512)
    return y;
  else
    return mended_log(x, y);
}

/// ln 2 in two parts, the first short enough that its product with an exponent is exact.
template <class T>
inline constexpr T ln2_high = sizeof(T) == 4 ? T(0x1.62e4p-1) : T(0x1.62e42fefa3p-1);
template <class T>
inline constexpr T ln2_low = sizeof(T) == 4 ? T(0x1.7f7d1cp-20) : T(0x1.3de6af278ece6p-42);

/// Natural logarithm.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> log(lanes<T, N> x) {
  using V = lanes<T, N>;
  const auto [e, f] = split(x);
  return log_unless_split(x, fma(e, V(ln2_high<T>), f - fma(e, V(-ln2_low<T>), log_rest(f))));
}
/// Binary logarithm, exact for powers of two.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> log2(lanes<T, N> x) {
  using V = lanes<T, N>;
  const auto [e, f] = split(x);
  // 1 / ln 2 in two parts, so that its own rounding does not show.
  const V high(sizeof(T) == 4 ? T(0x1.715476p+0) : T(0x1.71547652b82fep+0));
  const V low(sizeof(T) == 4 ? T(0x1.4ae0cp-26) : T(0x1.777d0ffda0d24p-56));
  const V rest = log_rest(f), y = f - rest;
  return log_unless_split(x, e + fma(y, high, fma(y, low, ((f - y) - rest) * high)));
}
/// Decimal logarithm.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> log10(lanes<T, N> x) {
  using V = lanes<T, N>;
  const auto [e, f] = split(x);
  const V rest = log_rest(f), y = f - rest;
  // log10(2) in a short and a rest part, and 1 / ln 10 in two parts.
  const V two_high(sizeof(T) == 4 ? T(0x1.344p-2) : T(0x1.34413509f4p-2));
  const V two_low(sizeof(T) == 4 ? T(0x1.3509f8p-18) : T(0x1.cff7988f8959bp-41));
  const V high(sizeof(T) == 4 ? T(0x1.bcb7b2p-2) : T(0x1.bcb7b1526e50ep-2));
  const V low(sizeof(T) == 4 ? T(-0x1.5b235ep-27) : T(0x1.95355baaafad3p-57));
  const V part = fma(y, high, fma(y, low, fma(e, two_low, ((f - y) - rest) * high)));
  return log_unless_split(x, fma(e, two_high, part));
}
/// log(1 + x), exact in relative terms near zero.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> log1p(lanes<T, N> x) {
  using V = lanes<T, N>;
  const V one(T(1)), u = x + one;
  // What the rounding of 1 + x lost comes back in the scale of f.
  const V lost = where(x < one, x - (u - one), one - (u - x));
  const auto [e, m1] = split(u);
  // Far from 1 the loss does not count, and 2^-e would be subnormal.
  const V f = fma(lost, power_of_two(greater(V(T(-126)), -e)), m1);
  const V y = fma(e, V(ln2_high<T>), f - fma(e, V(-ln2_low<T>), log_rest(f)));
  return where(x == V(T(0)), x, mended_log(u, y));
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
