// SPDX-License-Identifier: BSL-1.0
// convert<To>(lanes<From, N>): the cast of every lane, for every pair of types.
// From floating point to integers it is what the machine's instruction gives, and never undefined: to 64 and 32 bits,
// NaN and what does not fit become the most negative value; narrower types take the low bits of the 32-bit result, but
// uint8 those of the 64-bit one.
#pragma once

#include <limits>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/compare.hpp>
#include <kiln/device/cpu/simd/hardware.hpp>
#include <kiln/device/cpu/simd/memory.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// One floating-point number to a 32- or 64-bit signed integer: truncated; the most negative value if it does not fit.
template <std::signed_integral To, std::floating_point From>
constexpr To truncated(From x) noexcept {
  constexpr From top = static_cast<From>(std::uint64_t{1} << (8 * sizeof(To) - 1));
  return x >= -top && x < top ? static_cast<To>(x) : std::numeric_limits<To>::min();
}

namespace hardware {
void to_int32(lacking);
void to_int64(lacking);
#if defined(__SSE2__)
// clang-format off
inline intrinsic::m128i to_int32(intrinsic::m128 a) { return intrinsic::mm_cvttps_epi32(a); }
inline native_t<std::int32_t, 2> to_int32(intrinsic::m128d a) {
  const auto four = std::bit_cast<native_t<std::int32_t, 4>>(intrinsic::mm_cvttpd_epi32(a));
  return picked<0>(four, four, std::make_integer_sequence<int, 2>{});
}
#if defined(__AVX__)
inline intrinsic::m256i to_int32(intrinsic::m256 a) { return intrinsic::mm256_cvttps_epi32(a); }
inline intrinsic::m128i to_int32(intrinsic::m256d a) { return intrinsic::mm256_cvttpd_epi32(a); }
#endif
#if defined(__AVX512F__)
inline intrinsic::m512i to_int32(intrinsic::m512 a) { return intrinsic::mm512_cvttps_epi32(a); }
inline intrinsic::m256i to_int32(intrinsic::m512d a) { return intrinsic::mm512_cvttpd_epi32(a); }
#endif
#if defined(__AVX512DQ__) && defined(__AVX512VL__)
inline intrinsic::m512i to_int64(intrinsic::m256 a) { return intrinsic::mm512_cvttps_epi64(a); }
inline intrinsic::m256i to_int64(intrinsic::m128 a) { return intrinsic::mm256_cvttps_epi64(a); }
inline intrinsic::m128i to_int64(intrinsic::m128d a) { return intrinsic::mm_cvttpd_epi64(a); }
inline intrinsic::m256i to_int64(intrinsic::m256d a) { return intrinsic::mm256_cvttpd_epi64(a); }
inline intrinsic::m512i to_int64(intrinsic::m512d a) { return intrinsic::mm512_cvttpd_epi64(a); }
#endif
// clang-format on
#endif
}  // namespace hardware

/// Floating point to int32 or int64, truncated.
template <class To, std::floating_point From, int N>
[[gnu::always_inline]] inline lanes<To, N> truncated_lanes(lanes<From, N> a) {
  if constexpr (N * sizeof(From) < 16 && sizeof(To) == 8) {
    return truncated_lanes<To>(lanes<double, N>(__builtin_convertvector(a.v, native_t<double, N>)));
  } else if constexpr (N * sizeof(From) < 16) {
    return low_half(truncated_lanes<To>(join(a, a)));
  } else if constexpr (sizeof(To) == 4 && requires { hardware::to_int32(a.v); }) {
    return lanes<To, N>(std::bit_cast<typename lanes<To, N>::native>(hardware::to_int32(a.v)));
  } else if constexpr (sizeof(To) == 8 && requires { hardware::to_int64(a.v); }) {
    return lanes<To, N>(std::bit_cast<typename lanes<To, N>::native>(hardware::to_int64(a.v)));
  } else if constexpr (!fits<To, N>) {
    return join(truncated_lanes<To>(low_half(a)), truncated_lanes<To>(high_half(a)));
  } else {
    typename lanes<To, N>::native out{};
    for (int i = 0; i < N; ++i) out[i] = truncated<To>(static_cast<From>(a.v[i]));
    return lanes<To, N>(out);
  }
}

/// Every lane cast to `To`. Of a mask: 1 and 0; to a mask: whether the lane differs from zero (a NaN does).
template <class To, class From, int N>
[[gnu::always_inline]] inline lanes<To, N> convert(lanes<From, N> a) {
  if constexpr (std::same_as<To, From>) {
    return a;
  } else if constexpr (std::same_as<From, bool>) {
    return where(a, lanes<To, N>(To{1}), lanes<To, N>(To{0}));
  } else if constexpr (std::same_as<To, bool>) {
    return a != lanes<From, N>(From{0});
  } else if constexpr (!fits<From, N> || !fits<To, N>) {
    return join(convert<To>(low_half(a)), convert<To>(high_half(a)));
  } else if constexpr (Integer<From> && Integer<To>) {
    return lanes<To, N>(resized<To, From, N>(a.v));
  } else if constexpr (Integer<From>) {
    if constexpr (sizeof(From) < 4)
      return convert<To>(convert<std::int32_t>(a));
    else
      return lanes<To, N>(__builtin_convertvector(a.v, typename lanes<To, N>::native));
  } else if constexpr (Integer<To>) {
    if constexpr (std::same_as<To, std::uint64_t>) {
      // Beyond 2^63 the signed conversion has no room: take 2^63 off first and put its bit back.
      const lanes<From, N> half_range(From{0x1p63f});
      const auto beyond = a >= half_range;
      const auto low = bits_as<To>(convert<std::int64_t>(where(beyond, a - half_range, a)));
      return where(beyond, low ^ lanes<To, N>(To{1} << 63), low);
    } else if constexpr (std::same_as<To, std::uint32_t>) {
      return convert<To>(convert<std::int64_t>(a));
    } else if constexpr (std::same_as<To, std::uint8_t>) {
      // As in PyTorch, the low bits of a 64-bit result, which beyond 32 bits are others.
      const lanes<From, N> edge(From{0x1p31f});
      if (any((a >= edge) | (a < -edge))) return convert<To>(convert<std::int64_t>(a));
      return convert<To>(convert<std::int32_t>(a));
    } else if constexpr (sizeof(To) < 4) {
      return convert<To>(convert<std::int32_t>(a));
    } else {
      return truncated_lanes<To>(a);
    }
  } else {
    return lanes<To, N>(__builtin_convertvector(a.v, typename lanes<To, N>::native));
  }
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
