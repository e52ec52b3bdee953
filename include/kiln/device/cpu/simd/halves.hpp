// SPDX-License-Identifier: BSL-1.0
// Taking lanes apart and putting them together: low_half, high_half, join, and the change of a native integer vector
// from one element width to another, which masks and conversions share.
#pragma once

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/lanes.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Lanes First, First + 1, ... First + Count - 1 of the concatenation of two native vectors.
template <int First, class Native, int... I>
[[gnu::always_inline]] inline auto picked(Native a, Native b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (First + I)...);
}
/// Every second element of one native vector.
template <class Native, int... I>
[[gnu::always_inline]] inline auto evens(Native a, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, a, (2 * I)...);
}

/// `Count` integers of native vector `a` as integers of another width: sign- or zero-extended, or cut off.
/// GCC 12 takes a change of width by more than two apart into scalars, so it is made in steps.
template <class To, class From, int Count>
[[gnu::always_inline]] inline native_t<To, Count> resized(native_t<From, Count> a) {
  using from = std::conditional_t<std::signed_integral<From>, std::true_type, std::false_type>;
  constexpr int from_bytes = sizeof(From), to_bytes = sizeof(To);
  if constexpr (from_bytes == to_bytes) {
    return std::bit_cast<native_t<To, Count>>(a);
  } else if constexpr (to_bytes > 2 * from_bytes || from_bytes > 2 * to_bytes) {
    using step = signed_of<(to_bytes > from_bytes ? 2 * from_bytes : from_bytes / 2)>;
    using middle = std::conditional_t<from::value, step, std::make_unsigned_t<step>>;
    return resized<To, middle, Count>(resized<middle, From, Count>(a));
  } else {
    return __builtin_convertvector(a, native_t<To, Count>);
  }
}

/// A mask of N lanes from a comparison's result (0 or -1 in lanes of any width).
template <int N, class Element>
[[gnu::always_inline]] inline lanes<bool, N> mask_of(native_t<Element, N> compared) {
  return lanes<bool, N>(resized<typename lanes<bool, N>::element, Element, N>(compared));
}

template <class T, int N>
[[gnu::always_inline]] inline lanes<T, N / 2> low_half(lanes<T, N> a) {
  if constexpr (!fits<T, N>) {
    return a.low;
  } else {
    const auto half = picked<0>(a.v, a.v, std::make_integer_sequence<int, N / 2>{});
    if constexpr (std::same_as<T, bool>)
      return mask_of<N / 2, typename lanes<T, N>::element>(half);
    else
      return lanes<T, N / 2>(half);
  }
}
template <class T, int N>
[[gnu::always_inline]] inline lanes<T, N / 2> high_half(lanes<T, N> a) {
  if constexpr (!fits<T, N>) {
    return a.high;
  } else {
    const auto half = picked<N / 2>(a.v, a.v, std::make_integer_sequence<int, N / 2>{});
    if constexpr (std::same_as<T, bool>)
      return mask_of<N / 2, typename lanes<T, N>::element>(half);
    else
      return lanes<T, N / 2>(half);
  }
}
/// The lanes of `low`, then those of `high`.
template <class T, int N>
[[gnu::always_inline]] inline lanes<T, 2 * N> join(lanes<T, N> low, lanes<T, N> high) {
  using whole = lanes<T, 2 * N>;
  if constexpr (!fits<T, 2 * N>) {
    return whole(low, high);
  } else {
    using element = typename whole::element;  // of a mask, narrower than the halves' own
    using own = typename lanes<T, N>::element;
    if constexpr (std::same_as<T, bool>) {
      return whole(picked<0>(resized<element, own, N>(low.v), resized<element, own, N>(high.v),
                             std::make_integer_sequence<int, 2 * N>{}));
    } else {
      return whole(picked<0>(low.v, high.v, std::make_integer_sequence<int, 2 * N>{}));
    }
  }
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
