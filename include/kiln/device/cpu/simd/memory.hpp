// SPDX-License-Identifier: BSL-1.0
// Lanes from and to memory. half and bfloat16 are float in lanes; a bool is a byte in memory and a mask in lanes.
// Pointers need no alignment. partial.hpp has the forms for fewer than N elements.
#pragma once

#include <array>
#include <cstring>

#include <kiln/core/half.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/compare.hpp>

#if defined(__SSE2__)
#include <kiln/device/cpu/simd/intrinsics.hpp>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace kiln::cpu::inline KILN_VERSION_ISA {

template <class S>
struct computes_in {
  using type = S;
};
template <>
struct computes_in<half> {
  using type = float;
};
template <>
struct computes_in<bfloat16> {
  using type = float;
};
/// The type that values stored as S are computed in: float for the half types, else S.
template <class S>
using opmath_t = typename computes_in<S>::type;

/// The bytes at `p` as a native vector.
template <class Element, int N>
[[gnu::always_inline]] inline native_t<Element, N> native_load(const void* p) {
  native_t<Element, N> out;
  std::memcpy(&out, p, sizeof(out));
  return out;
}

/// Floats from the bits of half or bfloat16, for N floats that fit a register.
template <class S, int N>
[[gnu::always_inline]] inline lanes<float, N> widened(native_t<std::uint16_t, N> bits) {
  if constexpr (std::same_as<S, bfloat16>) {
    const auto word = resized<std::uint32_t, std::uint16_t, N>(bits);
    return lanes<float, N>(std::bit_cast<native_t<float, N>>(word << 16));
  } else {
#if defined(__AVX512F__)
    if constexpr (N == 16)
      return lanes<float, N>(native_t<float, N>(intrinsic::mm512_cvtph_ps(std::bit_cast<intrinsic::m256i>(bits))));
#endif
#if defined(__F16C__)
    if constexpr (N == 8)
      return lanes<float, N>(native_t<float, N>(intrinsic::mm256_cvtph_ps(std::bit_cast<intrinsic::m128i>(bits))));
#endif
#if defined(__aarch64__)
    if constexpr (N == 4) return lanes<float, N>(native_t<float, N>(vcvt_f32_f16(std::bit_cast<float16x4_t>(bits))));
#endif
    const auto word = std::bit_cast<native_t<std::int32_t, N>>(resized<std::uint32_t, std::uint16_t, N>(bits));
    const auto sign = (word & 0x8000) << 16, size = word & 0x7fff;
    // Normal numbers change only their bias. Infinity and NaN need the rest of the exponent, and a NaN its quiet bit.
    const auto moved = (size << 13) + (112 << 23);
    const auto special = moved + (112 << 23);
    const auto quiet = size > 0x7c00 ? special | 0x400000 : special;
    // A subnormal is a fraction in steps of 2^-24: put it under the exponent of 0.5 and take the 0.5 off.
    const auto small =
        std::bit_cast<native_t<std::int32_t, N>>(std::bit_cast<native_t<float, N>>(size | 0x3f000000) - 0.5f);
    const auto finite = size < 0x400 ? small : moved;
    return lanes<float, N>(std::bit_cast<native_t<float, N>>((size >= 0x7c00 ? quiet : finite) | sign));
  }
}

/// The bits of half or bfloat16 of floats, rounded to nearest even.
template <class S, int N>
[[gnu::always_inline]] inline native_t<std::uint16_t, N> narrowed(lanes<float, N> a) {
  using words = native_t<std::int32_t, N>;
  using unsigned_words = native_t<std::uint32_t, N>;
  const auto all = std::bit_cast<words>(a.v);
  const words size = all & 0x7fffffff;
  if constexpr (std::same_as<S, bfloat16>) {
    const auto bits = std::bit_cast<unsigned_words>(all);
    const unsigned_words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const unsigned_words nan = (bits >> 16) | 0x40u;
    return resized<std::uint16_t, std::uint32_t, N>(size > 0x7f800000 ? nan : rounded);
  } else {
#if defined(__AVX512F__)
    if constexpr (N == 16) return std::bit_cast<native_t<std::uint16_t, N>>(intrinsic::mm512_cvtps_ph(a.v));
#endif
#if defined(__F16C__)
    if constexpr (N == 8) return std::bit_cast<native_t<std::uint16_t, N>>(intrinsic::mm256_cvtps_ph(a.v));
#endif
#if defined(__aarch64__)
    if constexpr (N == 4)
      return std::bit_cast<native_t<std::uint16_t, N>>(vcvt_f16_f32(std::bit_cast<float32x4_t>(a.v)));
#endif
    // The steps of kiln::half_bits, for all lanes at once.
    const words normal = ((size + 0xfff + ((size >> 13) & 1)) >> 13) - (112 << 10);
    const words small = std::bit_cast<words>(std::bit_cast<native_t<float, N>>(size) + 0.5f) - 0x3f000000;
    const words nan = 0x7e00 | ((size >> 13) & 0x3ff);
    words out = size < 0x38800000 ? small : normal;
    out = size >= 0x477ff000 ? words{} + 0x7c00 : out;
    out = size > 0x7f800000 ? nan : out;
    out |= (all >> 16) & 0x8000;
    return resized<std::uint16_t, std::uint32_t, N>(std::bit_cast<unsigned_words>(out));
  }
}

/// What an element of type S is to the registers: itself, the bits of a half type, a byte of bool.
template <class S>
using stored_type = std::conditional_t<std::same_as<S, bool>, std::int8_t,
                                       std::conditional_t<std::same_as<S, opmath_t<S>>, S, std::uint16_t>>;

/// Lanes from stored elements, and back, for lanes that fit a register.
template <class S, int N>
[[gnu::always_inline]] inline lanes<opmath_t<S>, N> decoded(native_t<stored_type<S>, N> stored) {
  if constexpr (std::same_as<S, bool>)
    return mask_of<N, std::int8_t>(stored != 0);
  else if constexpr (std::same_as<S, opmath_t<S>>)
    return lanes<S, N>(stored);
  else
    return widened<S, N>(stored);
}
template <class S, int N>
[[gnu::always_inline]] inline native_t<stored_type<S>, N> encoded(lanes<opmath_t<S>, N> a) {
  if constexpr (std::same_as<S, bool>)
    return resized<std::int8_t, typename lanes<bool, N>::element, N>(a.v) & 1;
  else if constexpr (std::same_as<S, opmath_t<S>>)
    return a.v;
  else
    return narrowed<S, N>(a);
}

/// N elements from `p`.
template <int N, class S>
[[gnu::always_inline]] inline lanes<opmath_t<S>, N> load(const S* p) {
  using T = opmath_t<S>;
  if constexpr (!fits<T, N>)
    return lanes<T, N>(load<N / 2>(p), load<N / 2>(p + N / 2));
  else
    return decoded<S, N>(native_load<stored_type<S>, N>(p));
}

/// Writes the lanes to N elements at `p`; half types are rounded to nearest even.
template <class S, int N>
[[gnu::always_inline]] inline void store(S* p, lanes<opmath_t<S>, N> a) {
  if constexpr (!fits<opmath_t<S>, N>) {
    store(p, a.low);
    store(p + N / 2, a.high);
  } else {
    const auto stored = encoded<S, N>(a);
    std::memcpy(static_cast<void*>(p), &stored, sizeof(stored));
  }
}

/// The lanes as an array, and back: for functions that have no vector form.
template <class T, int N>
  requires(!std::same_as<T, bool>)
[[gnu::always_inline]] inline std::array<T, static_cast<std::size_t>(N)> to_array(lanes<T, N> a) {
  std::array<T, static_cast<std::size_t>(N)> out;
  store(out.data(), a);
  return out;
}

/// `f` of the lanes, one after the other.
template <class F, class T, int N, class... More>
[[gnu::noinline]] lanes<T, N> per_lane(F f, lanes<T, N> a, More... more) {
  auto out = to_array(a);
  [&](const auto&... rest) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(out[i], rest[i]...);
  }(to_array(more)...);
  return load<N>(out.data());
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
