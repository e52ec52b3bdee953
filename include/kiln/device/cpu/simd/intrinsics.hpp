// SPDX-License-Identifier: BSL-1.0
// The intrinsics of x86 that the vector layer is made of, by their names without the first underscore; of those of 512
// bits the masked form with every lane on, which avoids an uninitialised operand that GCC 12 warns about in its header.
// <immintrin.h> declares thousands more and takes a tenth of the time of a short program, so for g++ 12, whose builtins
// are known, they are made of those. Both ways give the same instructions.
#pragma once

#include <cstdint>

#include <kiln/device/cpu/processor/isa.hpp>

#if defined(__SSE2__)

#if !defined(__GNUC__) || defined(__clang__) || __GNUC__ != 12
#include <immintrin.h>
#endif

namespace kiln::cpu::inline KILN_VERSION_ISA::intrinsic {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
// clang-format off
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ == 12
typedef float m128 __attribute__((vector_size(16)));
typedef float m256 __attribute__((vector_size(32)));
typedef float m512 __attribute__((vector_size(64)));
typedef double m128d __attribute__((vector_size(16)));
typedef double m256d __attribute__((vector_size(32)));
typedef double m512d __attribute__((vector_size(64)));
typedef long long m128i __attribute__((vector_size(16), may_alias));
typedef long long m256i __attribute__((vector_size(32), may_alias));
typedef long long m512i __attribute__((vector_size(64), may_alias));
typedef char bytes128 __attribute__((vector_size(16)));
typedef char bytes256 __attribute__((vector_size(32)));
typedef char bytes512 __attribute__((vector_size(64)));
typedef short shorts128 __attribute__((vector_size(16)));
typedef short shorts256 __attribute__((vector_size(32)));
typedef int words128 __attribute__((vector_size(16)));
typedef int words256 __attribute__((vector_size(32)));
typedef int words512 __attribute__((vector_size(64)));

// In masks -1 is every lane; 4 is the rounding that is set, and 2 << 2 asks for [1, 2), and NaN below zero.
inline m128 mm_sqrt_ps(m128 a) { return __builtin_ia32_sqrtps(a); }
inline m128 mm_min_ps(m128 a, m128 b) { return __builtin_ia32_minps(a, b); }
inline m128 mm_max_ps(m128 a, m128 b) { return __builtin_ia32_maxps(a, b); }
inline m128d mm_sqrt_pd(m128d a) { return __builtin_ia32_sqrtpd(a); }
inline m128d mm_min_pd(m128d a, m128d b) { return __builtin_ia32_minpd(a, b); }
inline m128d mm_max_pd(m128d a, m128d b) { return __builtin_ia32_maxpd(a, b); }
inline m128i mm_cvttps_epi32(m128 a) { return reinterpret_cast<m128i>(__builtin_ia32_cvttps2dq(a)); }
inline m128i mm_cvttpd_epi32(m128d a) { return reinterpret_cast<m128i>(__builtin_ia32_cvttpd2dq(a)); }
inline int mm_movemask_epi8(m128i a) { return __builtin_ia32_pmovmskb128(reinterpret_cast<bytes128>(a)); }
inline m128i mm_mul_epu32(m128i a, m128i b) {
  return __builtin_ia32_pmuludq128(reinterpret_cast<words128>(a), reinterpret_cast<words128>(b));
}
inline void mm_sfence() { __builtin_ia32_sfence(); }
inline void mm_stream_si128(void* p, m128i a) { __builtin_ia32_movntdq(static_cast<m128i*>(p), a); }
#if defined(__SSE4_1__)
template <int Way> m128 mm_round_ps(m128 a) { return __builtin_ia32_roundps(a, Way); }
template <int Way> m128d mm_round_pd(m128d a) { return __builtin_ia32_roundpd(a, Way); }
#endif
#if defined(__AVX__)
inline m256 mm256_sqrt_ps(m256 a) { return __builtin_ia32_sqrtps256(a); }
inline m256 mm256_min_ps(m256 a, m256 b) { return __builtin_ia32_minps256(a, b); }
inline m256 mm256_max_ps(m256 a, m256 b) { return __builtin_ia32_maxps256(a, b); }
template <int Way> m256 mm256_round_ps(m256 a) { return __builtin_ia32_roundps256(a, Way); }
inline m256d mm256_sqrt_pd(m256d a) { return __builtin_ia32_sqrtpd256(a); }
inline m256d mm256_min_pd(m256d a, m256d b) { return __builtin_ia32_minpd256(a, b); }
inline m256d mm256_max_pd(m256d a, m256d b) { return __builtin_ia32_maxpd256(a, b); }
template <int Way> m256d mm256_round_pd(m256d a) { return __builtin_ia32_roundpd256(a, Way); }
inline m256i mm256_cvttps_epi32(m256 a) { return reinterpret_cast<m256i>(__builtin_ia32_cvttps2dq256(a)); }
inline m128i mm256_cvttpd_epi32(m256d a) { return reinterpret_cast<m128i>(__builtin_ia32_cvttpd2dq256(a)); }
inline int mm256_testz_si256(m256i a, m256i b) { return __builtin_ia32_ptestz256(a, b); }
inline void mm256_stream_si256(void* p, m256i a) { __builtin_ia32_movntdq256(static_cast<m256i*>(p), a); }
inline m128 mm_maskload_ps(const void* p, m128i mask) {
  return __builtin_ia32_maskloadps(static_cast<const m128*>(p), reinterpret_cast<words128>(mask));
}
inline m256 mm256_maskload_ps(const void* p, m256i mask) {
  return __builtin_ia32_maskloadps256(static_cast<const m256*>(p), reinterpret_cast<words256>(mask));
}
#endif
#if defined(__AVX2__)
inline m256i mm256_mul_epu32(m256i a, m256i b) {
  return __builtin_ia32_pmuludq256(reinterpret_cast<words256>(a), reinterpret_cast<words256>(b));
}
#endif
#if defined(__FMA__)
inline m128 mm_fmadd_ps(m128 a, m128 b, m128 c) { return __builtin_ia32_vfmaddps(a, b, c); }
inline m128d mm_fmadd_pd(m128d a, m128d b, m128d c) { return __builtin_ia32_vfmaddpd(a, b, c); }
inline m256 mm256_fmadd_ps(m256 a, m256 b, m256 c) { return __builtin_ia32_vfmaddps256(a, b, c); }
inline m256d mm256_fmadd_pd(m256d a, m256d b, m256d c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
#endif
#if defined(__F16C__)
inline m256 mm256_cvtph_ps(m128i a) { return __builtin_ia32_vcvtph2ps256(reinterpret_cast<shorts128>(a)); }
inline m128i mm256_cvtps_ph(m256 a) { return reinterpret_cast<m128i>(__builtin_ia32_vcvtps2ph256(a, 0)); }
#endif
#if defined(__AVX512F__)
inline m512 mm512_sqrt_ps(m512 a) { return __builtin_ia32_sqrtps512_mask(a, m512{}, -1, 4); }
inline m512 mm512_min_ps(m512 a, m512 b) { return __builtin_ia32_minps512_mask(a, b, m512{}, -1, 4); }
inline m512 mm512_max_ps(m512 a, m512 b) { return __builtin_ia32_maxps512_mask(a, b, m512{}, -1, 4); }
inline m512 mm512_fixupimm_ps(m512 a, m512 b, int table) {
  return __builtin_ia32_fixupimmps512_mask(a, b, words512{} + table, 0, -1, 4);
}
inline m512 mm512_fmadd_ps(m512 a, m512 b, m512 c) { return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4); }
template <int Way> m512 mm512_roundscale_ps(m512 a) { return __builtin_ia32_rndscaleps_mask(a, Way, m512{}, -1, 4); }
inline m512 mm512_scalef_ps(m512 a, m512 b) { return __builtin_ia32_scalefps512_mask(a, b, m512{}, -1, 4); }
inline m512 mm512_rsqrt14_ps(m512 a) { return __builtin_ia32_rsqrt14ps512_mask(a, m512{}, -1); }
inline m512 mm512_getexp_ps(m512 a) { return __builtin_ia32_getexpps512_mask(a, m512{}, -1, 4); }
inline m512 mm512_getmant_ps(m512 a) { return __builtin_ia32_getmantps512_mask(a, 2 << 2, m512{}, -1, 4); }
inline m512d mm512_sqrt_pd(m512d a) { return __builtin_ia32_sqrtpd512_mask(a, m512d{}, -1, 4); }
inline m512d mm512_min_pd(m512d a, m512d b) { return __builtin_ia32_minpd512_mask(a, b, m512d{}, -1, 4); }
inline m512d mm512_max_pd(m512d a, m512d b) { return __builtin_ia32_maxpd512_mask(a, b, m512d{}, -1, 4); }
inline m512d mm512_fixupimm_pd(m512d a, m512d b, int table) {
  return __builtin_ia32_fixupimmpd512_mask(a, b, m512i{} + table, 0, -1, 4);
}
inline m512d mm512_fmadd_pd(m512d a, m512d b, m512d c) { return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4); }
template <int Way> m512d mm512_roundscale_pd(m512d a) {
  return __builtin_ia32_rndscalepd_mask(a, Way, m512d{}, -1, 4);
}
inline m512d mm512_scalef_pd(m512d a, m512d b) { return __builtin_ia32_scalefpd512_mask(a, b, m512d{}, -1, 4); }
inline m512d mm512_rsqrt14_pd(m512d a) { return __builtin_ia32_rsqrt14pd512_mask(a, m512d{}, -1); }
inline m512d mm512_getexp_pd(m512d a) { return __builtin_ia32_getexppd512_mask(a, m512d{}, -1, 4); }
inline m512d mm512_getmant_pd(m512d a) { return __builtin_ia32_getmantpd512_mask(a, 2 << 2, m512d{}, -1, 4); }
inline m512i mm512_cvttps_epi32(m512 a) {
  return reinterpret_cast<m512i>(__builtin_ia32_cvttps2dq512_mask(a, words512{}, -1, 4));
}
inline m256i mm512_cvttpd_epi32(m512d a) {
  return reinterpret_cast<m256i>(__builtin_ia32_cvttpd2dq512_mask(a, words256{}, -1, 4));
}
inline int mm512_test_epi64_mask(m512i a, m512i b) { return __builtin_ia32_ptestmq512(a, b, -1); }
inline m512i mm512_mul_epu32(m512i a, m512i b) {
  return __builtin_ia32_pmuludq512_mask(reinterpret_cast<words512>(a), reinterpret_cast<words512>(b), m512i{}, -1);
}
inline m512 mm512_permutexvar_ps(m512i index, m512 a) {
  return __builtin_ia32_permvarsf512_mask(a, reinterpret_cast<words512>(index), m512{}, -1);
}
inline m512 mm512_permutex2var_ps(m512 a, m512i index, m512 b) {
  return __builtin_ia32_vpermt2varps512_mask(reinterpret_cast<words512>(index), a, b, -1);
}
inline m512 mm512_cvtph_ps(m256i a) {
  return __builtin_ia32_vcvtph2ps512_mask(reinterpret_cast<shorts256>(a), m512{}, -1, 4);
}
inline m256i mm512_cvtps_ph(m512 a) {
  return reinterpret_cast<m256i>(__builtin_ia32_vcvtps2ph512_mask(a, 8, shorts256{}, -1));
}
inline void mm512_stream_si512(void* p, m512i a) { __builtin_ia32_movntdq512(static_cast<m512i*>(p), a); }
#endif
#if defined(__AVX512F__) && defined(__AVX512VL__)
inline m128 mm_scalef_ps(m128 a, m128 b) { return __builtin_ia32_scalefps128_mask(a, b, m128{}, -1); }
inline m128 mm_rsqrt14_ps(m128 a) { return __builtin_ia32_rsqrt14ps128_mask(a, m128{}, -1); }
inline m128 mm_getexp_ps(m128 a) { return __builtin_ia32_getexpps128_mask(a, m128{}, -1); }
inline m128 mm_getmant_ps(m128 a) { return __builtin_ia32_getmantps128_mask(a, 2 << 2, m128{}, -1); }
inline m128d mm_scalef_pd(m128d a, m128d b) { return __builtin_ia32_scalefpd128_mask(a, b, m128d{}, -1); }
inline m128d mm_rsqrt14_pd(m128d a) { return __builtin_ia32_rsqrt14pd128_mask(a, m128d{}, -1); }
inline m128d mm_getexp_pd(m128d a) { return __builtin_ia32_getexppd128_mask(a, m128d{}, -1); }
inline m128d mm_getmant_pd(m128d a) { return __builtin_ia32_getmantpd128_mask(a, 2 << 2, m128d{}, -1); }
inline m256 mm256_scalef_ps(m256 a, m256 b) { return __builtin_ia32_scalefps256_mask(a, b, m256{}, -1); }
inline m256 mm256_rsqrt14_ps(m256 a) { return __builtin_ia32_rsqrt14ps256_mask(a, m256{}, -1); }
inline m256 mm256_getexp_ps(m256 a) { return __builtin_ia32_getexpps256_mask(a, m256{}, -1); }
inline m256 mm256_getmant_ps(m256 a) { return __builtin_ia32_getmantps256_mask(a, 2 << 2, m256{}, -1); }
inline m256d mm256_scalef_pd(m256d a, m256d b) { return __builtin_ia32_scalefpd256_mask(a, b, m256d{}, -1); }
inline m256d mm256_rsqrt14_pd(m256d a) { return __builtin_ia32_rsqrt14pd256_mask(a, m256d{}, -1); }
inline m256d mm256_getexp_pd(m256d a) { return __builtin_ia32_getexppd256_mask(a, m256d{}, -1); }
inline m256d mm256_getmant_pd(m256d a) { return __builtin_ia32_getmantpd256_mask(a, 2 << 2, m256d{}, -1); }
#endif
#if defined(__AVX512DQ__) && defined(__AVX512VL__)
inline m512i mm512_cvttps_epi64(m256 a) {
  return reinterpret_cast<m512i>(__builtin_ia32_cvttps2qq512_mask(a, m512i{}, -1, 4));
}
inline m256i mm256_cvttps_epi64(m128 a) {
  return reinterpret_cast<m256i>(__builtin_ia32_cvttps2qq256_mask(a, m256i{}, -1));
}
inline m128i mm_cvttpd_epi64(m128d a) {
  return reinterpret_cast<m128i>(__builtin_ia32_cvttpd2qq128_mask(a, m128i{}, -1));
}
inline m256i mm256_cvttpd_epi64(m256d a) {
  return reinterpret_cast<m256i>(__builtin_ia32_cvttpd2qq256_mask(a, m256i{}, -1));
}
inline m512i mm512_cvttpd_epi64(m512d a) {
  return reinterpret_cast<m512i>(__builtin_ia32_cvttpd2qq512_mask(a, m512i{}, -1, 4));
}
#endif
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
inline m128i mm_mask_loadu_epi8(m128i other, std::uint64_t mask, const void* p) {
  return reinterpret_cast<m128i>(__builtin_ia32_loaddquqi128_mask(
      static_cast<const char*>(p), reinterpret_cast<bytes128>(other), static_cast<std::uint16_t>(mask)));
}
inline void mm_mask_storeu_epi32(void* p, std::uint64_t mask, m128i a) {
  __builtin_ia32_storedqusi128_mask(
      static_cast<int*>(p), reinterpret_cast<words128>(a), static_cast<std::uint8_t>(mask));
}
inline m256i mm256_mask_loadu_epi8(m256i other, std::uint64_t mask, const void* p) {
  return reinterpret_cast<m256i>(__builtin_ia32_loaddquqi256_mask(
      static_cast<const char*>(p), reinterpret_cast<bytes256>(other), static_cast<std::uint32_t>(mask)));
}
inline void mm256_mask_storeu_epi32(void* p, std::uint64_t mask, m256i a) {
  __builtin_ia32_storedqusi256_mask(
      static_cast<int*>(p), reinterpret_cast<words256>(a), static_cast<std::uint8_t>(mask));
}
inline m512i mm512_mask_loadu_epi8(m512i other, std::uint64_t mask, const void* p) {
  return reinterpret_cast<m512i>(__builtin_ia32_loaddquqi512_mask(
      static_cast<const char*>(p), reinterpret_cast<bytes512>(other), mask));
}
inline void mm512_mask_storeu_epi32(void* p, std::uint64_t mask, m512i a) {
  __builtin_ia32_storedqusi512_mask(
      static_cast<int*>(p), reinterpret_cast<words512>(a), static_cast<std::uint16_t>(mask));
}
#endif
#else
using m128 = __m128;
using m128d = __m128d;
using m128i = __m128i;
#if defined(__AVX__)
using m256 = __m256;
using m256d = __m256d;
using m256i = __m256i;
#endif
#if defined(__AVX512F__)
using m512 = __m512;
using m512d = __m512d;
using m512i = __m512i;
#endif

inline m128 mm_sqrt_ps(m128 a) { return _mm_sqrt_ps(a); }
inline m128 mm_min_ps(m128 a, m128 b) { return _mm_min_ps(a, b); }
inline m128 mm_max_ps(m128 a, m128 b) { return _mm_max_ps(a, b); }
inline m128d mm_sqrt_pd(m128d a) { return _mm_sqrt_pd(a); }
inline m128d mm_min_pd(m128d a, m128d b) { return _mm_min_pd(a, b); }
inline m128d mm_max_pd(m128d a, m128d b) { return _mm_max_pd(a, b); }
inline m128i mm_cvttps_epi32(m128 a) { return _mm_cvttps_epi32(a); }
inline m128i mm_cvttpd_epi32(m128d a) { return _mm_cvttpd_epi32(a); }
inline int mm_movemask_epi8(m128i a) { return _mm_movemask_epi8(a); }
inline m128i mm_mul_epu32(m128i a, m128i b) { return _mm_mul_epu32(a, b); }
inline void mm_sfence() { _mm_sfence(); }
inline void mm_stream_si128(void* p, m128i a) { _mm_stream_si128(static_cast<__m128i*>(p), a); }
#if defined(__SSE4_1__)
template <int Way> m128 mm_round_ps(m128 a) { return _mm_round_ps(a, Way); }
template <int Way> m128d mm_round_pd(m128d a) { return _mm_round_pd(a, Way); }
#endif
#if defined(__AVX__)
inline m256 mm256_sqrt_ps(m256 a) { return _mm256_sqrt_ps(a); }
inline m256 mm256_min_ps(m256 a, m256 b) { return _mm256_min_ps(a, b); }
inline m256 mm256_max_ps(m256 a, m256 b) { return _mm256_max_ps(a, b); }
template <int Way> m256 mm256_round_ps(m256 a) { return _mm256_round_ps(a, Way); }
inline m256d mm256_sqrt_pd(m256d a) { return _mm256_sqrt_pd(a); }
inline m256d mm256_min_pd(m256d a, m256d b) { return _mm256_min_pd(a, b); }
inline m256d mm256_max_pd(m256d a, m256d b) { return _mm256_max_pd(a, b); }
template <int Way> m256d mm256_round_pd(m256d a) { return _mm256_round_pd(a, Way); }
inline m256i mm256_cvttps_epi32(m256 a) { return _mm256_cvttps_epi32(a); }
inline m128i mm256_cvttpd_epi32(m256d a) { return _mm256_cvttpd_epi32(a); }
inline int mm256_testz_si256(m256i a, m256i b) { return _mm256_testz_si256(a, b); }
inline void mm256_stream_si256(void* p, m256i a) { _mm256_stream_si256(static_cast<__m256i*>(p), a); }
inline m128 mm_maskload_ps(const void* p, m128i mask) { return _mm_maskload_ps(static_cast<const float*>(p), mask); }
inline m256 mm256_maskload_ps(const void* p, m256i mask) {
  return _mm256_maskload_ps(static_cast<const float*>(p), mask);
}
#endif
#if defined(__AVX2__)
inline m256i mm256_mul_epu32(m256i a, m256i b) { return _mm256_mul_epu32(a, b); }
#endif
#if defined(__FMA__)
inline m128 mm_fmadd_ps(m128 a, m128 b, m128 c) { return _mm_fmadd_ps(a, b, c); }
inline m128d mm_fmadd_pd(m128d a, m128d b, m128d c) { return _mm_fmadd_pd(a, b, c); }
inline m256 mm256_fmadd_ps(m256 a, m256 b, m256 c) { return _mm256_fmadd_ps(a, b, c); }
inline m256d mm256_fmadd_pd(m256d a, m256d b, m256d c) { return _mm256_fmadd_pd(a, b, c); }
#endif
#if defined(__F16C__)
inline m256 mm256_cvtph_ps(m128i a) { return _mm256_cvtph_ps(a); }
inline m128i mm256_cvtps_ph(m256 a) { return _mm256_cvtps_ph(a, 0); }
#endif
#if defined(__AVX512F__)
inline m512 mm512_sqrt_ps(m512 a) { return _mm512_maskz_sqrt_ps(0xffff, a); }
inline m512 mm512_min_ps(m512 a, m512 b) { return _mm512_maskz_min_ps(0xffff, a, b); }
inline m512 mm512_max_ps(m512 a, m512 b) { return _mm512_maskz_max_ps(0xffff, a, b); }
inline m512 mm512_fixupimm_ps(m512 a, m512 b, int table) {
  return _mm512_fixupimm_ps(a, b, _mm512_set1_epi32(table), 0);
}
inline m512 mm512_fmadd_ps(m512 a, m512 b, m512 c) { return _mm512_fmadd_ps(a, b, c); }
template <int Way> m512 mm512_roundscale_ps(m512 a) { return _mm512_maskz_roundscale_ps(0xffff, a, Way); }
inline m512 mm512_scalef_ps(m512 a, m512 b) { return _mm512_maskz_scalef_ps(0xffff, a, b); }
inline m512 mm512_rsqrt14_ps(m512 a) { return _mm512_maskz_rsqrt14_ps(0xffff, a); }
inline m512 mm512_getexp_ps(m512 a) { return _mm512_maskz_getexp_ps(0xffff, a); }
inline m512 mm512_getmant_ps(m512 a) {
  return _mm512_maskz_getmant_ps(0xffff, a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan);
}
inline m512d mm512_sqrt_pd(m512d a) { return _mm512_maskz_sqrt_pd(0xff, a); }
inline m512d mm512_min_pd(m512d a, m512d b) { return _mm512_maskz_min_pd(0xff, a, b); }
inline m512d mm512_max_pd(m512d a, m512d b) { return _mm512_maskz_max_pd(0xff, a, b); }
inline m512d mm512_fixupimm_pd(m512d a, m512d b, int table) {
  return _mm512_fixupimm_pd(a, b, _mm512_set1_epi64(table), 0);
}
inline m512d mm512_fmadd_pd(m512d a, m512d b, m512d c) { return _mm512_fmadd_pd(a, b, c); }
template <int Way> m512d mm512_roundscale_pd(m512d a) { return _mm512_maskz_roundscale_pd(0xff, a, Way); }
inline m512d mm512_scalef_pd(m512d a, m512d b) { return _mm512_maskz_scalef_pd(0xff, a, b); }
inline m512d mm512_rsqrt14_pd(m512d a) { return _mm512_maskz_rsqrt14_pd(0xff, a); }
inline m512d mm512_getexp_pd(m512d a) { return _mm512_maskz_getexp_pd(0xff, a); }
inline m512d mm512_getmant_pd(m512d a) {
  return _mm512_maskz_getmant_pd(0xff, a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan);
}
inline m512i mm512_cvttps_epi32(m512 a) { return _mm512_maskz_cvttps_epi32(0xffff, a); }
inline m256i mm512_cvttpd_epi32(m512d a) { return _mm512_maskz_cvttpd_epi32(0xff, a); }
inline int mm512_test_epi64_mask(m512i a, m512i b) { return _mm512_test_epi64_mask(a, b); }
inline m512i mm512_mul_epu32(m512i a, m512i b) { return _mm512_maskz_mul_epu32(0xff, a, b); }
inline m512 mm512_permutexvar_ps(m512i index, m512 a) { return _mm512_maskz_permutexvar_ps(0xffff, index, a); }
inline m512 mm512_permutex2var_ps(m512 a, m512i index, m512 b) { return _mm512_permutex2var_ps(a, index, b); }
inline m512 mm512_cvtph_ps(m256i a) { return _mm512_maskz_cvtph_ps(0xffff, a); }
inline m256i mm512_cvtps_ph(m512 a) { return _mm512_maskz_cvtps_ph(0xffff, a, 8); }
inline void mm512_stream_si512(void* p, m512i a) { _mm512_stream_si512(static_cast<__m512i*>(p), a); }
#endif
#if defined(__AVX512F__) && defined(__AVX512VL__)
inline m128 mm_scalef_ps(m128 a, m128 b) { return _mm_scalef_ps(a, b); }
inline m128 mm_rsqrt14_ps(m128 a) { return _mm_rsqrt14_ps(a); }
inline m128 mm_getexp_ps(m128 a) { return _mm_getexp_ps(a); }
inline m128 mm_getmant_ps(m128 a) { return _mm_getmant_ps(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan); }
inline m128d mm_scalef_pd(m128d a, m128d b) { return _mm_scalef_pd(a, b); }
inline m128d mm_rsqrt14_pd(m128d a) { return _mm_rsqrt14_pd(a); }
inline m128d mm_getexp_pd(m128d a) { return _mm_getexp_pd(a); }
inline m128d mm_getmant_pd(m128d a) { return _mm_getmant_pd(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan); }
inline m256 mm256_scalef_ps(m256 a, m256 b) { return _mm256_scalef_ps(a, b); }
inline m256 mm256_rsqrt14_ps(m256 a) { return _mm256_rsqrt14_ps(a); }
inline m256 mm256_getexp_ps(m256 a) { return _mm256_getexp_ps(a); }
inline m256 mm256_getmant_ps(m256 a) { return _mm256_getmant_ps(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan); }
inline m256d mm256_scalef_pd(m256d a, m256d b) { return _mm256_scalef_pd(a, b); }
inline m256d mm256_rsqrt14_pd(m256d a) { return _mm256_rsqrt14_pd(a); }
inline m256d mm256_getexp_pd(m256d a) { return _mm256_getexp_pd(a); }
inline m256d mm256_getmant_pd(m256d a) { return _mm256_getmant_pd(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan); }
#endif
#if defined(__AVX512DQ__) && defined(__AVX512VL__)
inline m512i mm512_cvttps_epi64(m256 a) { return _mm512_maskz_cvttps_epi64(0xff, a); }
inline m256i mm256_cvttps_epi64(m128 a) { return _mm256_cvttps_epi64(a); }
inline m128i mm_cvttpd_epi64(m128d a) { return _mm_cvttpd_epi64(a); }
inline m256i mm256_cvttpd_epi64(m256d a) { return _mm256_cvttpd_epi64(a); }
inline m512i mm512_cvttpd_epi64(m512d a) { return _mm512_maskz_cvttpd_epi64(0xff, a); }
#endif
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
inline m128i mm_mask_loadu_epi8(m128i other, std::uint64_t mask, const void* p) {
  return _mm_mask_loadu_epi8(other, static_cast<__mmask16>(mask), p);
}
inline void mm_mask_storeu_epi32(void* p, std::uint64_t mask, m128i a) {
  _mm_mask_storeu_epi32(p, static_cast<__mmask8>(mask), a);
}
inline m256i mm256_mask_loadu_epi8(m256i other, std::uint64_t mask, const void* p) {
  return _mm256_mask_loadu_epi8(other, static_cast<__mmask32>(mask), p);
}
inline void mm256_mask_storeu_epi32(void* p, std::uint64_t mask, m256i a) {
  _mm256_mask_storeu_epi32(p, static_cast<__mmask8>(mask), a);
}
inline m512i mm512_mask_loadu_epi8(m512i other, std::uint64_t mask, const void* p) {
  return _mm512_mask_loadu_epi8(other, static_cast<__mmask64>(mask), p);
}
inline void mm512_mask_storeu_epi32(void* p, std::uint64_t mask, m512i a) {
  _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(mask), a);
}
#endif
#endif
// clang-format on
#pragma GCC diagnostic pop

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::intrinsic

#endif
