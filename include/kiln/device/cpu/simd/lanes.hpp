// SPDX-License-Identifier: BSL-1.0
// lanes<T, N>: N values of T computed together, in one vector register where they fit and else in two halves.
// lanes<bool, N> is a mask. This file holds the type and what the compiler does by itself: arithmetic, comparison,
// bits, where. Loads, conversions, reductions and mathematics stand in the files beside it.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/width.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// The signed integer of so many bytes.
template <int Bytes>
using signed_of = std::conditional_t<
    Bytes == 1, std::int8_t,
    std::conditional_t<Bytes == 2, std::int16_t, std::conditional_t<Bytes == 4, std::int32_t, std::int64_t>>>;

/// What one lane of lanes<T, N> is made of. A lane of a mask (0 or -1) is as wide as lets N of them fill a register:
/// the width of the widest type of a program whose N is chosen for that type, so its comparisons need no conversion.
template <class T, int N>
struct lane {
  using type = T;
};
template <int N>
struct lane<bool, N> {
  static constexpr int bytes = vector_bytes / N;
  using type = signed_of<(bytes < 1 ? 1 : bytes > 8 ? 8 : bytes)>;
};

/// `Count` values of `Element` in the vector extension of the compiler.
template <class Element, int Count>
struct native_of {
  typedef Element type __attribute__((vector_size(sizeof(Element) * Count)));
};
template <class Element, int Count>
using native_t = typename native_of<Element, Count>::type;

/// Whether lanes<T, N> is one register rather than two halves.
template <class T, int N>
inline constexpr bool fits = N* static_cast<int>(sizeof(typename lane<T, N>::type)) <= vector_bytes;

/// Element types that count: every one but bool.
template <class T>
concept LaneNumber = std::is_arithmetic_v<T> && !std::same_as<T, bool>;
template <class T>
concept Integer = LaneNumber<T> && std::integral<T>;

/// N values of T (N a power of two, 2 to 64). A call to make one would cost more than all else where nothing is
/// optimised.
template <class T, int N>
struct lanes {
  static_assert(N >= 2 && N <= 64 && (N & (N - 1)) == 0, "lanes<T, N>: make N a power of two from 2 to 64");
  using value_type = T;
  using element = typename lane<T, N>::type;
  using native = native_t<element, N>;
  static constexpr int size = N;
  native v;

  lanes() = default;
  [[gnu::always_inline]] explicit lanes(native values) : v(values) {}
  /// The same value in every lane. Subtracting zero keeps the sign of -0.0, which adding zero would lose.
  [[gnu::always_inline]] explicit lanes(T value) : v(as_element(value) - native{}) {}
  [[gnu::always_inline]] static element as_element(T value) {
    if constexpr (std::same_as<T, bool>)
      return static_cast<element>(-static_cast<int>(value));
    else
      return value;
  }
};

template <class T, int N>
  requires(!fits<T, N>)
struct lanes<T, N> {
  static_assert(N >= 2 && N <= 64 && (N & (N - 1)) == 0, "lanes<T, N>: make N a power of two from 2 to 64");
  using value_type = T;
  static constexpr int size = N;
  lanes<T, N / 2> low, high;

  lanes() = default;
  [[gnu::always_inline]] explicit lanes(lanes<T, N / 2> l, lanes<T, N / 2> h) : low(l), high(h) {}
  [[gnu::always_inline]] explicit lanes(T value) : low(value), high(value) {}
};

/// `value` in N lanes.
template <int N, class T>
[[gnu::always_inline]] inline lanes<T, N> splat(T value) {
  return lanes<T, N>(value);
}

// ---- arithmetic; signed integers go through unsigned ones, where wrapping around is defined ----------------

template <LaneNumber T, int N>
[[gnu::always_inline]] inline auto wrapping(lanes<T, N> a) {
  if constexpr (std::signed_integral<T>)
    return std::bit_cast<native_t<std::make_unsigned_t<T>, N>>(a.v);
  else
    return a.v;
}
template <LaneNumber T, int N, class Native>
[[gnu::always_inline]] inline lanes<T, N> wrapped(Native v) {
  return lanes<T, N>(std::bit_cast<typename lanes<T, N>::native>(v));
}

template <LaneNumber T, int N>
[[gnu::always_inline]] inline lanes<T, N> operator+(lanes<T, N> a, lanes<T, N> b) {
  if constexpr (!fits<T, N>)
    return lanes<T, N>(a.low + b.low, a.high + b.high);
  else if constexpr (std::signed_integral<T>)
    return wrapped<T, N>(wrapping(a) + wrapping(b));
  else
    return lanes<T, N>(a.v + b.v);
}
template <LaneNumber T, int N>
[[gnu::always_inline]] inline lanes<T, N> operator-(lanes<T, N> a, lanes<T, N> b) {
  if constexpr (!fits<T, N>)
    return lanes<T, N>(a.low - b.low, a.high - b.high);
  else if constexpr (std::signed_integral<T>)
    return wrapped<T, N>(wrapping(a) - wrapping(b));
  else
    return lanes<T, N>(a.v - b.v);
}
template <LaneNumber T, int N>
[[gnu::always_inline]] inline lanes<T, N> operator*(lanes<T, N> a, lanes<T, N> b) {
  if constexpr (!fits<T, N>)
    return lanes<T, N>(a.low * b.low, a.high * b.high);
  else if constexpr (std::signed_integral<T>)
    return wrapped<T, N>(wrapping(a) * wrapping(b));
  else
    return lanes<T, N>(a.v * b.v);
}
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> operator/(lanes<T, N> a, lanes<T, N> b) {
  if constexpr (fits<T, N>)
    return lanes<T, N>(a.v / b.v);
  else
    return lanes<T, N>(a.low / b.low, a.high / b.high);
}
template <LaneNumber T, int N>
[[gnu::always_inline]] inline lanes<T, N> operator-(lanes<T, N> a) {
  if constexpr (!fits<T, N>)
    return lanes<T, N>(-a.low, -a.high);
  else if constexpr (std::signed_integral<T>)
    return wrapped<T, N>(-wrapping(a));
  else
    return lanes<T, N>(-a.v);
}

// ---- bits; of a mask, the logical operations ---------------------------------------------------------------

template <class T, int N>
  requires std::integral<T>
[[gnu::always_inline]] inline lanes<T, N> operator&(lanes<T, N> a, lanes<T, N> b) {
  if constexpr (fits<T, N>)
    return lanes<T, N>(a.v & b.v);
  else
    return lanes<T, N>(a.low & b.low, a.high & b.high);
}
template <class T, int N>
  requires std::integral<T>
[[gnu::always_inline]] inline lanes<T, N> operator|(lanes<T, N> a, lanes<T, N> b) {
  if constexpr (fits<T, N>)
    return lanes<T, N>(a.v | b.v);
  else
    return lanes<T, N>(a.low | b.low, a.high | b.high);
}
template <class T, int N>
  requires std::integral<T>
[[gnu::always_inline]] inline lanes<T, N> operator^(lanes<T, N> a, lanes<T, N> b) {
  if constexpr (fits<T, N>)
    return lanes<T, N>(a.v ^ b.v);
  else
    return lanes<T, N>(a.low ^ b.low, a.high ^ b.high);
}
template <class T, int N>
  requires std::integral<T>
[[gnu::always_inline]] inline lanes<T, N> operator~(lanes<T, N> a) {
  if constexpr (fits<T, N>)
    return lanes<T, N>(~a.v);
  else
    return lanes<T, N>(~a.low, ~a.high);
}
template <int N>
[[gnu::always_inline]] inline lanes<bool, N> operator!(lanes<bool, N> a) {
  return ~a;
}

/// The bits of `a` read as lanes of another type of the same size.
template <class To, class From, int N>
  requires(sizeof(To) == sizeof(From) && LaneNumber<To> && LaneNumber<From>)
[[gnu::always_inline]] inline lanes<To, N> bits_as(lanes<From, N> a) {
  if constexpr (fits<From, N>)
    return lanes<To, N>(std::bit_cast<typename lanes<To, N>::native>(a.v));
  else
    return lanes<To, N>(bits_as<To>(a.low), bits_as<To>(a.high));
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
