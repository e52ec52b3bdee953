// SPDX-License-Identifier: BSL-1.0
// Shifts of integer lanes by integer lanes. An amount that is negative or not less than the width shifts everything
// out, as in PyTorch: zeros, or copies of the sign bit for >> of a signed type.
#pragma once

#include <limits>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/compare.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

template <Integer T, int N>
[[gnu::always_inline]] inline lanes<T, N> operator<<(lanes<T, N> a, lanes<T, N> by) {
  if constexpr (fits<T, N>) {
    using bits = std::make_unsigned_t<T>;
    constexpr bits width = 8 * sizeof(T);
    const auto amount = std::bit_cast<native_t<bits, N>>(by.v);  // a negative amount becomes a large one
    const auto moved = std::bit_cast<native_t<bits, N>>(a.v) << (amount & static_cast<bits>(width - 1));
    return wrapped<T, N>(amount < width ? moved : native_t<bits, N>{});
  } else {
    return lanes<T, N>(a.low << by.low, a.high << by.high);
  }
}
template <Integer T, int N>
[[gnu::always_inline]] inline lanes<T, N> operator>>(lanes<T, N> a, lanes<T, N> by) {
  if constexpr (fits<T, N>) {
    using bits = std::make_unsigned_t<T>;
    constexpr bits width = 8 * sizeof(T);
    const auto amount = std::bit_cast<native_t<bits, N>>(by.v);
    const auto inside = amount < width ? amount : native_t<bits, N>{} + static_cast<bits>(width - 1);
    const auto moved = a.v >> std::bit_cast<native_t<T, N>>(inside);
    if constexpr (std::signed_integral<T>)
      return lanes<T, N>(moved);
    else
      return lanes<T, N>(amount < width ? moved : native_t<T, N>{});
  } else {
    return lanes<T, N>(a.low >> by.low, a.high >> by.high);
  }
}

/// Every lane shifted by the same constant, which is one instruction where shifts by lanes are not.
template <int By, Integer T, int N>
[[gnu::always_inline]] inline lanes<T, N> shift_left(lanes<T, N> a) {
  static_assert(By >= 0 && By < static_cast<int>(8 * sizeof(T)), "shift_left: the amount must be less than the width");
  if constexpr (fits<T, N>)
    return wrapped<T, N>(wrapping(a) << By);
  else
    return lanes<T, N>(shift_left<By>(a.low), shift_left<By>(a.high));
}
template <int By, Integer T, int N>
[[gnu::always_inline]] inline lanes<T, N> shift_right(lanes<T, N> a) {
  static_assert(By >= 0 && By < static_cast<int>(8 * sizeof(T)), "shift_right: the amount must be less than the width");
  if constexpr (fits<T, N>)
    return lanes<T, N>(a.v >> By);
  else
    return lanes<T, N>(shift_right<By>(a.low), shift_right<By>(a.high));
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
