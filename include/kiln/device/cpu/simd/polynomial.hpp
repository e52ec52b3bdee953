// SPDX-License-Identifier: BSL-1.0
// What the mathematical functions are made of: polynomials, powers of two, and the layout of a floating-point number.
#pragma once

#include <bit>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/rounding.hpp>
#include <kiln/device/cpu/simd/shift.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// The layout of float and double: an unsigned integer of the same size, and how it splits.
template <class T>
struct float_format;
template <>
struct float_format<float> {
  using bits = std::uint32_t;
  static constexpr int fraction = 23;
  static constexpr bits bias = 127;
};
template <>
struct float_format<double> {
  using bits = std::uint64_t;
  static constexpr int fraction = 52;
  static constexpr bits bias = 1023;
};

/// c0 + x (c1 + x (c2 + ...)), by Horner's rule. The lanes of many registers are in flight at once, so the length of
/// the chain costs less than the multiplications that a shorter one would add.
template <std::floating_point T, int N, std::same_as<T>... C>
[[gnu::always_inline]] inline lanes<T, N> polynomial(lanes<T, N> x, T c0, C... more) {
  if constexpr (sizeof...(more) == 0)
    return lanes<T, N>(c0);
  else
    return fma(polynomial(x, more...), x, lanes<T, N>(c0));
}

/// Where x >= 0 lies among intervals around the multiples of a width, of so few bits that the multiples are exact: the
/// interval's number in the low bits of a sum with 1.5 * 2^23, of which lookups by table read no others, and how far x
/// is from the interval's middle.
template <int N>
struct interval_place {
  lanes<float, N> number, from_middle;
};
template <int N>
[[gnu::always_inline]] inline interval_place<N> place_in_intervals(lanes<float, N> x, float width) {
  using V = lanes<float, N>;
  const V shift(0x1.8p23f), number = fma(x, V(1 / width), shift);
  return {number, fma(number - shift, V(-width), x)};
}

/// The nearest integer of |x| < 2^21 (2^50 for double).
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> nearest(lanes<T, N> x) {
  if constexpr (has_rounding) {
    return round(x);
  } else {
    const lanes<T, N> shift(sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52));
    return (x + shift) - shift;
  }
}

/// The low bits of the integer n (|n| < 2^21), as an integer.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline auto integer_bits(lanes<T, N> n) {
  using bits = typename float_format<T>::bits;
  constexpr T shift = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52);
  return bits_as<bits>(n + lanes<T, N>(shift)) - lanes<bits, N>(std::bit_cast<bits>(shift));
}
/// 2^n for an integer n of the exponent's range.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> power_of_two(lanes<T, N> n) {
  using bits = typename float_format<T>::bits;
  if constexpr (has_avx512) {
    return through(
        [](auto x, auto y) __attribute__((always_inline)) { return hardware::scaled(x, y); }, lanes<T, N>(T(1)), n);
  } else {
    return bits_as<T>(shift_left<float_format<T>::fraction>(integer_bits(n) + lanes<bits, N>(float_format<T>::bias)));
  }
}
/// p * 2^n for an integer n of at most twice the exponent's range, rounded once: results may overflow or be subnormal.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> scaled(lanes<T, N> p, lanes<T, N> n) {
  if constexpr (has_avx512) {
    return through(
        [](auto x, auto y) __attribute__((always_inline)) { return hardware::scaled(x, y); }, p, n);
  } else {
    // Two factors, as 2^n alone may lie outside the range; p * 2^first is exact.
    using bits = typename float_format<T>::bits;
    constexpr bits bias = float_format<T>::bias;
    const lanes<bits, N> all = integer_bits(n) + lanes<bits, N>(2 * bias), first = shift_right<1>(all);
    return p * bits_as<T>(shift_left<float_format<T>::fraction>(first)) *
           bits_as<T>(shift_left<float_format<T>::fraction>(all - first));
  }
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
