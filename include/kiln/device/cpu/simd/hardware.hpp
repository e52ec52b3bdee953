// SPDX-License-Identifier: BSL-1.0
// Instructions that the vector extension has no operator for (square root, rounding, fused multiply-add, minimum), over
// registers of 16, 32 and 64 bytes; elsewhere the same functions lane by lane. `through` brings lanes to registers.
#pragma once

#include <cmath>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/halves.hpp>

#if defined(__SSE2__)
#include <kiln/device/cpu/simd/intrinsics.hpp>
#endif

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Whether a * b + c rounds once in hardware.
#if defined(__FMA__)
inline constexpr bool has_fma = true;
#else
inline constexpr bool has_fma = false;
#endif
/// Whether the hardware rounds to integers in floating point.
#if defined(__SSE4_1__) || !defined(__SSE2__)
inline constexpr bool has_rounding = true;
#else
inline constexpr bool has_rounding = false;
#endif
/// Whether every register width has a fast p * 2^n (vscalef).
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
inline constexpr bool has_avx512 = true;
#else
inline constexpr bool has_avx512 = false;
#endif

/// The ways to round, as the immediate of the instruction; 8 leaves the exception flags alone.
enum class rounding : int { nearest_even = 8 | 0, down = 8 | 1, up = 8 | 2, to_zero = 8 | 3 };

namespace hardware {

// What a machine lacks is still a name, so that templates which don't use it there compile.
struct lacking {};
template <rounding Way>
void rounded(lacking);
void fused(lacking, lacking, lacking);
void nan_or(lacking, lacking);
void scaled(lacking, lacking);
void nearly_rsqrt(lacking);
void exponent(lacking);
void mantissa(lacking);

#if defined(__SSE2__)
// clang-format off
inline intrinsic::m128  sqrt(intrinsic::m128 a) { return intrinsic::mm_sqrt_ps(a); }
inline intrinsic::m128d sqrt(intrinsic::m128d a) { return intrinsic::mm_sqrt_pd(a); }
// lesser and greater return the second operand if either is a NaN.
inline intrinsic::m128  lesser(intrinsic::m128 a, intrinsic::m128 b) { return intrinsic::mm_min_ps(a, b); }
inline intrinsic::m128d lesser(intrinsic::m128d a, intrinsic::m128d b) { return intrinsic::mm_min_pd(a, b); }
inline intrinsic::m128  greater(intrinsic::m128 a, intrinsic::m128 b) { return intrinsic::mm_max_ps(a, b); }
inline intrinsic::m128d greater(intrinsic::m128d a, intrinsic::m128d b) { return intrinsic::mm_max_pd(a, b); }
#if defined(__SSE4_1__)
template <rounding Way> intrinsic::m128  rounded(intrinsic::m128 a) {
  return intrinsic::mm_round_ps<static_cast<int>(Way)>(a);
}
template <rounding Way> intrinsic::m128d rounded(intrinsic::m128d a) {
  return intrinsic::mm_round_pd<static_cast<int>(Way)>(a);
}
#endif
#if defined(__FMA__)
inline intrinsic::m128  fused(intrinsic::m128 a, intrinsic::m128 b, intrinsic::m128 c) {
  return intrinsic::mm_fmadd_ps(a, b, c);
}
inline intrinsic::m128d fused(intrinsic::m128d a, intrinsic::m128d b, intrinsic::m128d c) {
  return intrinsic::mm_fmadd_pd(a, b, c);
}
inline intrinsic::m256  fused(intrinsic::m256 a, intrinsic::m256 b, intrinsic::m256 c) {
  return intrinsic::mm256_fmadd_ps(a, b, c);
}
inline intrinsic::m256d fused(intrinsic::m256d a, intrinsic::m256d b, intrinsic::m256d c) {
  return intrinsic::mm256_fmadd_pd(a, b, c);
}
#endif
#if defined(__AVX__)
inline intrinsic::m256  sqrt(intrinsic::m256 a) { return intrinsic::mm256_sqrt_ps(a); }
inline intrinsic::m256d sqrt(intrinsic::m256d a) { return intrinsic::mm256_sqrt_pd(a); }
inline intrinsic::m256  lesser(intrinsic::m256 a, intrinsic::m256 b) { return intrinsic::mm256_min_ps(a, b); }
inline intrinsic::m256d lesser(intrinsic::m256d a, intrinsic::m256d b) { return intrinsic::mm256_min_pd(a, b); }
inline intrinsic::m256  greater(intrinsic::m256 a, intrinsic::m256 b) { return intrinsic::mm256_max_ps(a, b); }
inline intrinsic::m256d greater(intrinsic::m256d a, intrinsic::m256d b) { return intrinsic::mm256_max_pd(a, b); }
template <rounding Way> intrinsic::m256  rounded(intrinsic::m256 a) {
  return intrinsic::mm256_round_ps<static_cast<int>(Way)>(a);
}
template <rounding Way> intrinsic::m256d rounded(intrinsic::m256d a) {
  return intrinsic::mm256_round_pd<static_cast<int>(Way)>(a);
}
#endif
#if defined(__AVX512F__)
inline intrinsic::m512  sqrt(intrinsic::m512 a) { return intrinsic::mm512_sqrt_ps(a); }
inline intrinsic::m512d sqrt(intrinsic::m512d a) { return intrinsic::mm512_sqrt_pd(a); }
inline intrinsic::m512  lesser(intrinsic::m512 a, intrinsic::m512 b) { return intrinsic::mm512_min_ps(a, b); }
inline intrinsic::m512d lesser(intrinsic::m512d a, intrinsic::m512d b) { return intrinsic::mm512_min_pd(a, b); }
inline intrinsic::m512  greater(intrinsic::m512 a, intrinsic::m512 b) { return intrinsic::mm512_max_ps(a, b); }
inline intrinsic::m512d greater(intrinsic::m512d a, intrinsic::m512d b) { return intrinsic::mm512_max_pd(a, b); }
// a where it is a NaN, which is then a quiet one, else b: in the table, 2 is "the quiet NaN of a" for the two sorts of
// NaN, and 0 "b" for all else.
inline intrinsic::m512  nan_or(intrinsic::m512 a, intrinsic::m512 b) {
  return intrinsic::mm512_fixupimm_ps(b, a, 0x22);
}
inline intrinsic::m512d nan_or(intrinsic::m512d a, intrinsic::m512d b) {
  return intrinsic::mm512_fixupimm_pd(b, a, 0x22);
}
inline intrinsic::m512  fused(intrinsic::m512 a, intrinsic::m512 b, intrinsic::m512 c) {
  return intrinsic::mm512_fmadd_ps(a, b, c);
}
inline intrinsic::m512d fused(intrinsic::m512d a, intrinsic::m512d b, intrinsic::m512d c) {
  return intrinsic::mm512_fmadd_pd(a, b, c);
}
template <rounding Way> intrinsic::m512  rounded(intrinsic::m512 a) {
  return intrinsic::mm512_roundscale_ps<static_cast<int>(Way)>(a);
}
template <rounding Way> intrinsic::m512d rounded(intrinsic::m512d a) {
  return intrinsic::mm512_roundscale_pd<static_cast<int>(Way)>(a);
}
#endif
#if defined(__AVX512F__) && defined(__AVX512VL__)
// p * 2^n for integral n, rounded once: overflow and subnormal results included.
inline intrinsic::m128  scaled(intrinsic::m128 p, intrinsic::m128 n) { return intrinsic::mm_scalef_ps(p, n); }
inline intrinsic::m128d scaled(intrinsic::m128d p, intrinsic::m128d n) { return intrinsic::mm_scalef_pd(p, n); }
inline intrinsic::m256  scaled(intrinsic::m256 p, intrinsic::m256 n) { return intrinsic::mm256_scalef_ps(p, n); }
inline intrinsic::m256d scaled(intrinsic::m256d p, intrinsic::m256d n) { return intrinsic::mm256_scalef_pd(p, n); }
inline intrinsic::m512  scaled(intrinsic::m512 p, intrinsic::m512 n) { return intrinsic::mm512_scalef_ps(p, n); }
inline intrinsic::m512d scaled(intrinsic::m512d p, intrinsic::m512d n) { return intrinsic::mm512_scalef_pd(p, n); }
// 1 / sqrt(a) within 2^-14.
inline intrinsic::m128  nearly_rsqrt(intrinsic::m128 a) { return intrinsic::mm_rsqrt14_ps(a); }
inline intrinsic::m128d nearly_rsqrt(intrinsic::m128d a) { return intrinsic::mm_rsqrt14_pd(a); }
inline intrinsic::m256  nearly_rsqrt(intrinsic::m256 a) { return intrinsic::mm256_rsqrt14_ps(a); }
inline intrinsic::m256d nearly_rsqrt(intrinsic::m256d a) { return intrinsic::mm256_rsqrt14_pd(a); }
inline intrinsic::m512  nearly_rsqrt(intrinsic::m512 a) { return intrinsic::mm512_rsqrt14_ps(a); }
inline intrinsic::m512d nearly_rsqrt(intrinsic::m512d a) { return intrinsic::mm512_rsqrt14_pd(a); }
// floor(log2|a|), and a / 2^that; -inf and 1 with its sign at zero, inf and 1 at infinity, mantissa NaN below zero.
inline intrinsic::m128  exponent(intrinsic::m128 a) { return intrinsic::mm_getexp_ps(a); }
inline intrinsic::m128d exponent(intrinsic::m128d a) { return intrinsic::mm_getexp_pd(a); }
inline intrinsic::m256  exponent(intrinsic::m256 a) { return intrinsic::mm256_getexp_ps(a); }
inline intrinsic::m256d exponent(intrinsic::m256d a) { return intrinsic::mm256_getexp_pd(a); }
inline intrinsic::m512  exponent(intrinsic::m512 a) { return intrinsic::mm512_getexp_ps(a); }
inline intrinsic::m512d exponent(intrinsic::m512d a) { return intrinsic::mm512_getexp_pd(a); }
inline intrinsic::m128  mantissa(intrinsic::m128 a) { return intrinsic::mm_getmant_ps(a); }
inline intrinsic::m128d mantissa(intrinsic::m128d a) { return intrinsic::mm_getmant_pd(a); }
inline intrinsic::m256  mantissa(intrinsic::m256 a) { return intrinsic::mm256_getmant_ps(a); }
inline intrinsic::m256d mantissa(intrinsic::m256d a) { return intrinsic::mm256_getmant_pd(a); }
inline intrinsic::m512  mantissa(intrinsic::m512 a) { return intrinsic::mm512_getmant_ps(a); }
inline intrinsic::m512d mantissa(intrinsic::m512d a) { return intrinsic::mm512_getmant_pd(a); }
#endif
// clang-format on
#else
template <class Native, class F, class... More>
Native by_lane(F f, Native a, More... more) {
  Native out{};
  for (std::size_t i = 0; i < sizeof(a) / sizeof(a[0]); ++i) out[i] = f(a[i], more[i]...);
  return out;
}
template <class Native>
Native sqrt(Native a) {
  return by_lane([](auto x) { return std::sqrt(x); }, a);
}
template <class Native>
Native lesser(Native a, Native b) {
  return a < b ? a : b;
}
template <class Native>
Native greater(Native a, Native b) {
  return b < a ? a : b;
}
template <rounding Way, class Native>
Native rounded(Native a) {
  return by_lane(
      [](auto x) {
        if constexpr (Way == rounding::nearest_even)
          return std::nearbyint(x);
        else if constexpr (Way == rounding::down)
          return std::floor(x);
        else if constexpr (Way == rounding::up)
          return std::ceil(x);
        else
          return std::trunc(x);
      },
      a);
}
#endif

}  // namespace hardware

/// Applies `f`, a function of registers, to lanes: halves of lanes that are too wide, padded ones that are too narrow
/// (the padding repeats lanes, so that it can raise or slow nothing that the lanes themselves don't).
template <class F, std::floating_point T, int N, class... More>
[[gnu::always_inline]] inline lanes<T, N> through(F f, lanes<T, N> a, More... more) {
  if constexpr (!fits<T, N>) {
    return lanes<T, N>(through(f, a.low, more.low...), through(f, a.high, more.high...));
  } else if constexpr (N * sizeof(T) < 16) {
    return low_half(through(f, join(a, a), join(more, more)...));
  } else {
    return lanes<T, N>(static_cast<typename lanes<T, N>::native>(f(a.v, more.v...)));
  }
}

/// a * b + c, rounded once where the hardware can (`has_fma`), else twice.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> fma(lanes<T, N> a, lanes<T, N> b, lanes<T, N> c) {
  if constexpr (has_fma) {
    return through(
        [](auto x, auto y, auto z) __attribute__((always_inline)) { return hardware::fused(x, y, z); }, a, b, c);
  } else {
    return a * b + c;
  }
}
/// a < b ? a : b, so `b` if either is a NaN.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> lesser(lanes<T, N> a, lanes<T, N> b) {
  return through(
      [](auto x, auto y) __attribute__((always_inline)) { return hardware::lesser(x, y); }, a, b);
}
/// a > b ? a : b, so `b` if either is a NaN.
template <std::floating_point T, int N>
[[gnu::always_inline]] inline lanes<T, N> greater(lanes<T, N> a, lanes<T, N> b) {
  return through(
      [](auto x, auto y) __attribute__((always_inline)) { return hardware::greater(x, y); }, a, b);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
