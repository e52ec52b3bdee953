// SPDX-License-Identifier: BSL-1.0
// fmod (the sign of the dividend, as in C) and remainder (the sign of the divisor, as in Python), and the truncating
// integer quotient. Division by an integer zero throws; the remainder by -1 is 0, also of the most negative integer.
#pragma once

#include <cmath>

#include <kiln/core/error.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/memory.hpp>
#include <kiln/device/cpu/simd/rounding.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_division_by_zero(const char* operation) {
  throw value_error(message(operation,
                            ": integer division by zero; mask the zeros of the divisor with where(), or "
                            "compute in floating point"));
}

/// `f(a, b)` for every lane of integers whose divisors are not zero, with the quotient by -1 kept from overflowing.
template <class F, Integer T, int N>
[[gnu::always_inline]] inline lanes<T, N> divided(const char* operation, F f, lanes<T, N> a, lanes<T, N> b) {
  if (any(b == lanes<T, N>(T{0}))) throw_division_by_zero(operation);
  return per_lane(f, a, b);
}

/// a - trunc(a / b) b, with the sign of `a`. Throws value_error if an integer divisor is zero.
template <LaneNumber T, int N>
inline lanes<T, N> fmod(lanes<T, N> a, lanes<T, N> b) {
  if constexpr (std::integral<T>) {
    return divided(
        "fmod",
        [](T x, T y) { return y == static_cast<T>(-1) && std::signed_integral<T> ? T{0} : static_cast<T>(x % y); }, a,
        b);
  } else {
    return per_lane([](T x, T y) { return std::fmod(x, y); }, a, b);
  }
}
/// a - floor(a / b) b, with the sign of `b`. Throws value_error if an integer divisor is zero.
template <LaneNumber T, int N>
inline lanes<T, N> remainder(lanes<T, N> a, lanes<T, N> b) {
  const lanes<T, N> zero(T{0});
  if constexpr (std::unsigned_integral<T>) {
    return divided(
        "remainder", [](T x, T y) { return static_cast<T>(x % y); }, a, b);
  } else if constexpr (std::integral<T>) {
    const auto r = divided(
        "remainder", [](T x, T y) { return y == T{-1} ? T{0} : static_cast<T>(x % y); }, a, b);
    return where((r != zero) & ((r < zero) != (b < zero)), r + b, r);
  } else {
    const auto r = fmod(a, b);
    return where((r != zero) & ((r < zero) != (b < zero)), r + b, r);
  }
}
/// The quotient rounded toward zero; the most negative integer divided by -1 wraps around to itself.
/// Throws value_error if a divisor is zero.
template <Integer T, int N>
inline lanes<T, N> truncating_divide(lanes<T, N> a, lanes<T, N> b) {
  return divided(
      "truncating_divide",
      [](T x, T y) {
        using bits = std::make_unsigned_t<T>;
        if (y == static_cast<T>(-1) && std::signed_integral<T>)
          return static_cast<T>(static_cast<bits>(bits{0} - static_cast<bits>(x)));
        return static_cast<T>(x / y);
      },
      a, b);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
