// SPDX-License-Identifier: BSL-1.0
// pow and hypot. |x|^y = 2^(y log2|x|): in double for float; for double with log2 in two parts, each product and sum
// keeping what it rounds away (T. Dekker 1971), for y log2|x| multiplies every error by up to a thousand.
#pragma once

#include <cmath>
#include <utility>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/convert.hpp>
#include <kiln/device/cpu/simd/error_function.hpp>
#include <kiln/device/cpu/simd/log.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// log2 of positive x in double, within 2^-37; -inf and inf at 0 and inf.
template <int N>
[[gnu::always_inline]] inline lanes<double, N> short_log2(lanes<double, N> x) {
  using V = lanes<double, N>;
  const auto [e, f] = split(x);
  const V s = f / (V(2.0) + f);
  return mended_log(x, fma(s,
                           polynomial(s * s, 0x1.71547652bee7p+1, 0x1.ec709d1229381p-1, 0x1.2777806cf8652p-1,
                                      0x1.a58d472b6d76ep-2, 0x1.5ced4dd8dac46p-2),
                           e));
}

/// |x|^y of floats; x is not negative.
template <int N>
[[gnu::always_inline]] inline lanes<float, N> power_of_size(lanes<float, N> x, lanes<float, N> y) {
  using W = lanes<double, N>;
  const W exponent = limited(convert<double>(y) * short_log2(convert<double>(x)), -200.0, 200.0);
  const W n = nearest(exponent);
  const W p = polynomial(exponent - n, 0x1.00000002615fbp+0, 0x1.62e430c7e8cap-1, 0x1.ebfbdadc9c9cdp-3,
                         0x1.c6aed4ba10904p-5, 0x1.3b2dbbd079ba5p-7, 0x1.5f456a4030a6bp-10, 0x1.41d328af062c8p-13);
  return convert<float>(p * power_of_two(n));
}

/// high + low = a + b for |a| >= |b|.
template <class V>
[[gnu::always_inline]] inline std::pair<V, V> exact_sum(V a, V b) {
  const V high = a + b;
  return {high, b - (high - a)};
}
/// high + low = a * b; needs FMA.
template <class V>
[[gnu::always_inline]] inline std::pair<V, V> exact_product(V a, V b) {
  const V high = a * b;
  return {high, fma(a, b, -high)};
}

/// log2 of positive finite x in two parts, within 2^-64: log(1 + f) = 2 atanh(s) = 2s + (2/3)s^3 + s^5 tail(s^2).
template <int N>
[[gnu::always_inline]] inline std::pair<lanes<double, N>, lanes<double, N>> long_log2(lanes<double, N> x) {
  using V = lanes<double, N>;
  const auto [e, f] = split(x);
  const auto [u, u_low] = exact_sum(V(2.0), f);
  const V s = f / u, s_low = fma(-s, u_low, fma(-s, u, f)) / u;
  const auto [z, z_rest] = exact_product(s, s);
  const V z_low = fma(s + s, s_low, z_rest);
  const auto [cube, cube_rest] = exact_product(s, z);
  const V cube_low = fma(s_low, z, fma(s, z_low, cube_rest));
  const V tail = polynomial(z, 0x1.9999999999b33p-2, 0x1.24924924577fep-2, 0x1.c71c722de3da1p-3, 0x1.745ce9b6a22b5p-3,
                            0x1.3b1ef466aa54cp-3, 0x1.0f7f20341281dp-3, 0x1.0e4a349279d9fp-3);
  const V third(0x1.5555555555555p-1), third_low(0x1.5555555555555p-55);
  const auto [t, t_rest] = exact_product(cube, third);
  const V t_low = fma(cube, third_low, fma(cube_low, third, t_rest)) + cube * z * tail;
  const auto [sum, sum_rest] = exact_sum(s + s, t);
  const V sum_low = sum_rest + (t_low + (s_low + s_low));
  const V per_ln2(0x1.71547652b82fep+0), per_ln2_low(0x1.777d0ffda0d24p-56);
  const auto [product, product_rest] = exact_product(sum, per_ln2);
  const V product_low = fma(sum, per_ln2_low, fma(sum_low, per_ln2, product_rest));
  // Where e is zero the product is the larger one, and the sum is exact anyway.
  const auto [high, high_rest] = exact_sum(e, product);
  return exact_sum(high, high_rest + product_low);
}

template <int N>
[[gnu::always_inline]] inline lanes<double, N> power_of_size(lanes<double, N> x, lanes<double, N> y) {
  using V = lanes<double, N>;
  const auto [high, low] = long_log2(x);
  const V edge = limited(y * mended_log(x, high), -2000.0, 2000.0);
  // Beyond the edge, and for x = 0 and infinity, the rest would be a NaN and does not count.
  const V rest = fma(y, low, fma(y, high, -edge));
  const V n = nearest(edge), r = (edge - n) + where(abs(edge) < V(2000.0), rest, V(0.0));
  const V p = polynomial(r, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0d1p-5, 0x1.3b2ab6fba4e82p-7,
                         0x1.5d87fe78a22cdp-10, 0x1.430912f868d4p-13, 0x1.ffcbfc75e4881p-17, 0x1.62c0224dac8afp-20,
                         0x1.b524db5303718p-24, 0x1.e4cee81d803afp-28, 0x1.ea04203517aa8p-32, 0x1.c4dace580a3c5p-36);
  return scaled(fma(r, p, V(1.0)), n);
}

/// x^y with the special values of C (annex F): 1^y = x^0 = 1 even for NaN; NaN for a negative x and a fractional y.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> pow(lanes<T, N> x, lanes<T, N> y) {
  using V = lanes<T, N>;
  if constexpr (sizeof(T) == 8 && !has_fma) {
    return per_lane([](T a, T b) { return std::pow(a, b); }, x, y);
  } else {
    const V zero(T(0)), one(T(1)), half(T(0.5)), size = abs(x);
    const auto integral = trunc(y) == y;
    const V halved = y * half;
    const auto odd = integral & (trunc(halved) != halved);
    V out = power_of_size(size, y);
    out = where(odd, copysign(out, x), out);
    out = where((x < zero) & isfinite(x) & !integral, V(std::numeric_limits<T>::quiet_NaN()), out);
    // log2(1) = 0 times an infinite y is no number, but |x| = 1 to any even power is 1.
    out = where((size == one) & isinf(y), one, out);
    return where((y == zero) | (x == one), one, out);
  }
}

/// sqrt(x^2 + y^2) without overflow on the way; infinite if either is, even beside a NaN.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> hypot(lanes<T, N> x, lanes<T, N> y) {
  using V = lanes<T, N>;
  const V a = abs(x), b = abs(y), infinite(std::numeric_limits<T>::infinity());
  const auto unbounded = (a == infinite) | (b == infinite);
  if constexpr (sizeof(T) == 4) {
    using W = lanes<double, N>;
    const W wide = convert<double>(a), high = convert<double>(b);
    return where(unbounded, infinite, convert<float>(sqrt(fma(wide, wide, high * high))));
  } else {
    // Both are scaled by the power of two that brings the larger one near 1.
    const V most = maximum(a, b), least = minimum(a, b);
    const auto huge = most > V(0x1p500), tiny = most < V(0x1p-500);
    const V scale = where(huge, V(0x1p-600), where(tiny, V(0x1p600), V(1.0)));
    const V back = where(huge, V(0x1p600), where(tiny, V(0x1p-600), V(1.0)));
    const V p = most * scale, q = least * scale;
    const auto [square, rest] = exact_square(p);
    const V sum = fma(q, q, square), root = sqrt(sum);
    return where(unbounded, infinite, where(most == V(0.0), most, (root + rest / (root + root)) * back));
  }
}

/// x to the power y of integers, wrapping around; 1 / x^-y without its fraction for negative y, and 0 for that of 0.
template <std::integral T>
constexpr T integer_power(T x, T y) {
  if (std::is_signed_v<T> && y < T(0)) {
    if (x == T(1)) return T(1);
    return x == static_cast<T>(-1) ? static_cast<T>(y & T(1) ? -1 : 1) : T(0);
  }
  auto base = static_cast<std::uint64_t>(x), rest = static_cast<std::uint64_t>(y);
  std::uint64_t out = 1;
  for (; rest != 0; rest >>= 1, base *= base)
    if (rest & 1) out *= base;
  return static_cast<T>(out);
}
template <Integer T, int N>
inline lanes<T, N> pow(lanes<T, N> x, lanes<T, N> y) {
  return per_lane([](T a, T b) { return integer_power(a, b); }, x, y);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
