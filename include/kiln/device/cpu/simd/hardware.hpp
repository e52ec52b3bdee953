// SPDX-License-Identifier: BSL-1.0
// Instructions that the vector extension has no operator for (square root, rounding, fused multiply-add, minimum), over
// registers of 16, 32 and 64 bytes; elsewhere the same functions lane by lane. `through` brings lanes to registers.
#pragma once

#include <cmath>

#include <kiln/device/cpu/isa.hpp>
#include <kiln/device/cpu/simd/halves.hpp>

#if defined(__SSE2__)
#include <immintrin.h>
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
void scaled(lacking, lacking);
void nearly_rsqrt(lacking);
void exponent(lacking);
void mantissa(lacking);

#if defined(__SSE2__)
// Without optimisation the compiler has intrinsics as macros, whose casts of masks warn here.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
// The 512-bit forms are the masked ones with every lane on: the same instructions, without the uninitialised source
// operand that GCC 12 warns about in its own header.
// clang-format off
inline __m128  sqrt(__m128 a) { return _mm_sqrt_ps(a); }
inline __m128d sqrt(__m128d a) { return _mm_sqrt_pd(a); }
// lesser and greater return the second operand if either is a NaN.
inline __m128  lesser(__m128 a, __m128 b) { return _mm_min_ps(a, b); }
inline __m128d lesser(__m128d a, __m128d b) { return _mm_min_pd(a, b); }
inline __m128  greater(__m128 a, __m128 b) { return _mm_max_ps(a, b); }
inline __m128d greater(__m128d a, __m128d b) { return _mm_max_pd(a, b); }
#if defined(__SSE4_1__)
template <rounding Way> __m128  rounded(__m128 a) { return _mm_round_ps(a, static_cast<int>(Way)); }
template <rounding Way> __m128d rounded(__m128d a) { return _mm_round_pd(a, static_cast<int>(Way)); }
#endif
#if defined(__FMA__)
inline __m128  fused(__m128 a, __m128 b, __m128 c) { return _mm_fmadd_ps(a, b, c); }
inline __m128d fused(__m128d a, __m128d b, __m128d c) { return _mm_fmadd_pd(a, b, c); }
inline __m256  fused(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
inline __m256d fused(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
#endif
#if defined(__AVX__)
inline __m256  sqrt(__m256 a) { return _mm256_sqrt_ps(a); }
inline __m256d sqrt(__m256d a) { return _mm256_sqrt_pd(a); }
inline __m256  lesser(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }
inline __m256d lesser(__m256d a, __m256d b) { return _mm256_min_pd(a, b); }
inline __m256  greater(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
inline __m256d greater(__m256d a, __m256d b) { return _mm256_max_pd(a, b); }
template <rounding Way> __m256  rounded(__m256 a) { return _mm256_round_ps(a, static_cast<int>(Way)); }
template <rounding Way> __m256d rounded(__m256d a) { return _mm256_round_pd(a, static_cast<int>(Way)); }
#endif
#if defined(__AVX512F__)
inline __m512  sqrt(__m512 a) { return _mm512_maskz_sqrt_ps(0xffff, a); }
inline __m512d sqrt(__m512d a) { return _mm512_maskz_sqrt_pd(0xff, a); }
inline __m512  lesser(__m512 a, __m512 b) { return _mm512_maskz_min_ps(0xffff, a, b); }
inline __m512d lesser(__m512d a, __m512d b) { return _mm512_maskz_min_pd(0xff, a, b); }
inline __m512  greater(__m512 a, __m512 b) { return _mm512_maskz_max_ps(0xffff, a, b); }
inline __m512d greater(__m512d a, __m512d b) { return _mm512_maskz_max_pd(0xff, a, b); }
inline __m512  fused(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
inline __m512d fused(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
template <rounding Way> __m512  rounded(__m512 a) {
  return _mm512_maskz_roundscale_ps(0xffff, a, static_cast<int>(Way));
}
template <rounding Way> __m512d rounded(__m512d a) {
  return _mm512_maskz_roundscale_pd(0xff, a, static_cast<int>(Way));
}
#endif
#if defined(__AVX512F__) && defined(__AVX512VL__)
// p * 2^n for integral n, rounded once: overflow and subnormal results included.
inline __m128  scaled(__m128 p, __m128 n) { return _mm_scalef_ps(p, n); }
inline __m128d scaled(__m128d p, __m128d n) { return _mm_scalef_pd(p, n); }
inline __m256  scaled(__m256 p, __m256 n) { return _mm256_scalef_ps(p, n); }
inline __m256d scaled(__m256d p, __m256d n) { return _mm256_scalef_pd(p, n); }
inline __m512  scaled(__m512 p, __m512 n) { return _mm512_maskz_scalef_ps(0xffff, p, n); }
inline __m512d scaled(__m512d p, __m512d n) { return _mm512_maskz_scalef_pd(0xff, p, n); }
// 1 / sqrt(a) within 2^-14.
inline __m128  nearly_rsqrt(__m128 a) { return _mm_rsqrt14_ps(a); }
inline __m128d nearly_rsqrt(__m128d a) { return _mm_rsqrt14_pd(a); }
inline __m256  nearly_rsqrt(__m256 a) { return _mm256_rsqrt14_ps(a); }
inline __m256d nearly_rsqrt(__m256d a) { return _mm256_rsqrt14_pd(a); }
inline __m512  nearly_rsqrt(__m512 a) { return _mm512_maskz_rsqrt14_ps(0xffff, a); }
inline __m512d nearly_rsqrt(__m512d a) { return _mm512_maskz_rsqrt14_pd(0xff, a); }
// floor(log2|a|), and a / 2^that; -inf and 1 with its sign at zero, inf and 1 at infinity, mantissa NaN below zero.
inline __m128  exponent(__m128 a) { return _mm_getexp_ps(a); }
inline __m128d exponent(__m128d a) { return _mm_getexp_pd(a); }
inline __m256  exponent(__m256 a) { return _mm256_getexp_ps(a); }
inline __m256d exponent(__m256d a) { return _mm256_getexp_pd(a); }
inline __m512  exponent(__m512 a) { return _mm512_maskz_getexp_ps(0xffff, a); }
inline __m512d exponent(__m512d a) { return _mm512_maskz_getexp_pd(0xff, a); }
inline __m128  mantissa(__m128 a) { return _mm_getmant_ps(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan); }
inline __m128d mantissa(__m128d a) { return _mm_getmant_pd(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan); }
inline __m256  mantissa(__m256 a) { return _mm256_getmant_ps(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan); }
inline __m256d mantissa(__m256d a) { return _mm256_getmant_pd(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan); }
inline __m512  mantissa(__m512 a) { return _mm512_maskz_getmant_ps(0xffff, a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan); }
inline __m512d mantissa(__m512d a) { return _mm512_maskz_getmant_pd(0xff, a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan); }
#endif
// clang-format on
#pragma GCC diagnostic pop
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
