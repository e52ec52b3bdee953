// SPDX-License-Identifier: BSL-1.0
// Comparisons of lanes, which give masks, and the use of masks: where, any, all.
#pragma once

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/hardware.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Applies `compare` to the native vectors of two lanes and makes a mask of the result.
template <class T, int N, class Compare>
[[gnu::always_inline]] inline lanes<bool, N> compared(lanes<T, N> a, lanes<T, N> b, Compare compare) {
  if constexpr (fits<T, N>) {
    using element = signed_of<sizeof(typename lanes<T, N>::element)>;
    return mask_of<N, element>(std::bit_cast<native_t<element, N>>(compare(a.v, b.v)));
  } else {
    return join(compared(a.low, b.low, compare), compared(a.high, b.high, compare));
  }
}

template <class T, int N>
[[gnu::always_inline]] inline lanes<bool, N> operator==(lanes<T, N> a, lanes<T, N> b) {
  return compared(
      a, b, [](auto x, auto y) __attribute__((always_inline)) { return x == y; });
}
template <class T, int N>
[[gnu::always_inline]] inline lanes<bool, N> operator!=(lanes<T, N> a, lanes<T, N> b) {
  return compared(
      a, b, [](auto x, auto y) __attribute__((always_inline)) { return x != y; });
}
template <LaneNumber T, int N>
[[gnu::always_inline]] inline lanes<bool, N> operator<(lanes<T, N> a, lanes<T, N> b) {
  return compared(
      a, b, [](auto x, auto y) __attribute__((always_inline)) { return x < y; });
}
template <LaneNumber T, int N>
[[gnu::always_inline]] inline lanes<bool, N> operator<=(lanes<T, N> a, lanes<T, N> b) {
  return compared(
      a, b, [](auto x, auto y) __attribute__((always_inline)) { return x <= y; });
}
template <LaneNumber T, int N>
[[gnu::always_inline]] inline lanes<bool, N> operator>(lanes<T, N> a, lanes<T, N> b) {
  return b < a;
}
template <LaneNumber T, int N>
[[gnu::always_inline]] inline lanes<bool, N> operator>=(lanes<T, N> a, lanes<T, N> b) {
  return b <= a;
}
// false < true, as in C++; the lanes of a mask are 0 and -1, so the order turns round.
template <int N>
[[gnu::always_inline]] inline lanes<bool, N> operator<(lanes<bool, N> a, lanes<bool, N> b) {
  return ~a & b;
}
template <int N>
[[gnu::always_inline]] inline lanes<bool, N> operator<=(lanes<bool, N> a, lanes<bool, N> b) {
  return ~a | b;
}
template <int N>
[[gnu::always_inline]] inline lanes<bool, N> operator>(lanes<bool, N> a, lanes<bool, N> b) {
  return b < a;
}
template <int N>
[[gnu::always_inline]] inline lanes<bool, N> operator>=(lanes<bool, N> a, lanes<bool, N> b) {
  return b <= a;
}

/// Lane by lane: `a` where the mask is true, else `b`.
template <class T, int N>
[[gnu::always_inline]] inline lanes<T, N> where(lanes<bool, N> mask, lanes<T, N> a, lanes<T, N> b) {
  if constexpr (fits<T, N>) {
    using element = signed_of<sizeof(typename lanes<T, N>::element)>;
    return lanes<T, N>(resized<element, typename lanes<bool, N>::element, N>(mask.v) ? a.v : b.v);
  } else {
    return lanes<T, N>(where(low_half(mask), a.low, b.low), where(high_half(mask), a.high, b.high));
  }
}

namespace hardware {
void any_bit(lacking);
#if defined(__SSE2__)
inline bool any_bit(intrinsic::m128i a) {
  return intrinsic::mm_movemask_epi8(a) != 0;
}
#if defined(__AVX__)
inline bool any_bit(intrinsic::m256i a) {
  return intrinsic::mm256_testz_si256(a, a) == 0;
}
#endif
#if defined(__AVX512F__)
inline bool any_bit(intrinsic::m512i a) {
  return intrinsic::mm512_test_epi64_mask(a, a) != 0;
}
#endif
#endif
}  // namespace hardware

/// Whether any lane of the mask is true.
template <int N>
[[gnu::always_inline]] inline bool any(lanes<bool, N> mask) {
  if constexpr (!fits<bool, N>) {
    return any(mask.low | mask.high);
  } else {
    constexpr int bytes = N * static_cast<int>(sizeof(typename lanes<bool, N>::element));
    if constexpr (bytes <= 8) {
      return std::bit_cast<signed_of<bytes>>(mask.v) != 0;
    } else {
      const auto words = std::bit_cast<native_t<long long, bytes / 8>>(mask.v);
      if constexpr (requires { hardware::any_bit(words); }) {
        return hardware::any_bit(words);
      } else {
        long long together = 0;
        for (int i = 0; i < bytes / 8; ++i) together |= words[i];
        return together != 0;
      }
    }
  }
}
/// Whether every lane of the mask is true.
template <int N>
[[gnu::always_inline]] inline bool all(lanes<bool, N> mask) {
  return !any(~mask);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
