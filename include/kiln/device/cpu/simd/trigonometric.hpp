// SPDX-License-Identifier: BSL-1.0
// sin, cos, tan in radians. |x| = n pi/2 + r with |r| <= pi/4 in three parts of pi/2 (Cody and Waite 1980), then a
// minimax polynomial of our own; beyond 1e5 the lanes go through std::, which knows more digits of pi.
#pragma once

#include <cmath>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/convert.hpp>
#include <kiln/device/cpu/simd/memory.hpp>
#include <kiln/device/cpu/simd/polynomial.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// |x| = n pi/2 + r; `quadrant` has the low bits of n.
template <std::floating_point T, int N>
struct quadrants {
  using bits = typename float_format<T>::bits;
  lanes<bits, N> quadrant;
  lanes<T, N> r;
};

/// Beyond this size the reduction would lose digits.
inline constexpr float largest_reduced = 1e5f;

template <std::floating_point T, int N>
[[gnu::always_inline]] inline quadrants<T, N> reduce_by_half_pi(lanes<T, N> size) {
  using V = lanes<T, N>;
  constexpr bool single = sizeof(T) == 4;
  using bits = typename float_format<T>::bits;
  if constexpr (single && !has_fma) {
    const auto wide = reduce_by_half_pi(convert<double>(size));
    return {convert<bits>(wide.quadrant), convert<float>(wide.r)};
  } else {
    const V n = nearest(size * V(single ? T(0x1.45f306p-1) : T(0x1.45f306dc9c883p-1)));
    // The integer stands in the low bits of a sum with 1.5 * 2^23 (2^52).
    const auto quadrant = bits_as<bits>(n + V(single ? T(0x1.8p23) : T(0x1.8p52)));
    // With FMA every n * part is exact; without it the parts are short enough that it is for |n| < 2^20.
    constexpr T first = single ? T(0x1.921fb6p+0) : has_fma ? T(0x1.921fb54442d18p+0) : T(0x1.921fb544p+0);
    constexpr T second = single ? T(-0x1.777a5cp-25) : has_fma ? T(0x1.1a62633145c07p-54) : T(0x1.0b4611a6p-34);
    constexpr T third = single ? T(-0x1.ee59dap-50) : has_fma ? T(-0x1.f1976b7ed8fbcp-110) : T(0x1.3198a2e037073p-69);
    return {quadrant, fma(n, V(-third), fma(n, V(-second), fma(n, V(-first), size)))};
  }
}

/// sin r for |r| <= pi/4.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> sin_of_reduced(lanes<T, N> r) {
  const auto z = r * r;
  if constexpr (sizeof(T) == 4) {
    return fma(r * z, polynomial(z, -0x1.555544p-3f, 0x1.11066ap-7f, -0x1.98fd4ap-13f), r);
  } else {
    return fma(r * z,
               polynomial(z, -0x1.5555555555545p-3, 0x1.111111110f242p-7, -0x1.a01a019b48c14p-13, 0x1.71de34c852481p-19,
                          -0x1.ae5ddc2f6dfb2p-26, 0x1.5d6ad5b9f6287p-33),
               r);
  }
}
/// cos r for |r| <= pi/4.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> cos_of_reduced(lanes<T, N> r) {
  using V = lanes<T, N>;
  const V z = r * r, half(T(-0.5)), one(T(1));
  if constexpr (sizeof(T) == 4) {
    return fma(z * z, polynomial(z, 0x1.555548p-5f, -0x1.6c0b52p-10f, 0x1.99ab1p-16f), fma(z, half, one));
  } else {
    return fma(z * z,
               polynomial(z, 0x1.5555555555548p-5, -0x1.6c16c16c14939p-10, 0x1.a01a019be495ap-16,
                          -0x1.27e4f776c00f7p-22, 0x1.1ee988851fc0ep-29, -0x1.8f7b7aa623e6dp-37),
               fma(z, half, one));
  }
}

/// `a` with its sign turned where bit 1 of `quadrant` and the sign bit of `x` differ.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> with_sign_of(lanes<typename float_format<T>::bits, N> quadrant, lanes<T, N> x,
                                                       lanes<T, N> a) {
  using bits = typename float_format<T>::bits;
  constexpr int top = static_cast<int>(8 * sizeof(T)) - 2;
  const lanes<bits, N> sign(bits{2} << top);
  return bits_as<T>((((shift_left<top>(quadrant) ^ bits_as<bits>(x)) & sign)) ^ bits_as<bits>(a));
}
template <class Bits, int N>
[[gnu::always_inline]] inline lanes<bool, N> is_odd(lanes<Bits, N> n) {
  return (n & lanes<Bits, N>(1)) != lanes<Bits, N>(0);
}

/// `fast`, but `exact(x)` lane by lane where |x| is too large for the reduction.
template <class Exact, std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> unless_large(Exact exact, lanes<T, N> x, lanes<T, N> fast) {
  const auto large = abs(x) > lanes<T, N>(T(largest_reduced));
  if (any(large)) [[unlikely]]
    return where(large, per_lane(exact, x), fast);
  return fast;
}

/// Sine.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> sin(lanes<T, N> x) {
  const auto [quadrant, r] = reduce_by_half_pi(abs(x));
  const auto size = where(is_odd(quadrant), cos_of_reduced(r), sin_of_reduced(r));
  return unless_large([](T a) { return std::sin(a); }, x, with_sign_of(quadrant, x, size));
}
/// Cosine: the sine a quadrant further on.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> cos(lanes<T, N> x) {
  using bits = typename float_format<T>::bits;
  const auto [quadrant, r] = reduce_by_half_pi(abs(x));
  const auto size = where(is_odd(quadrant), sin_of_reduced(r), cos_of_reduced(r));
  return unless_large([](T a) { return std::cos(a); }, x,
                      with_sign_of(quadrant + lanes<bits, N>(1), lanes<T, N>(T(0)), size));
}
/// Tangent.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> tan(lanes<T, N> x) {
  const auto [quadrant, r] = reduce_by_half_pi(abs(x));
  const auto s = sin_of_reduced(r), c = cos_of_reduced(r);
  const auto odd = is_odd(quadrant);
  const auto size = where(odd, c, s) / where(odd, s, c);
  // In odd quadrants it is -cos / sin: bit 0 is the sign.
  return unless_large([](T a) { return std::tan(a); }, x, with_sign_of(shift_left<1>(quadrant), x, size));
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
