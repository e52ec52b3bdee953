// SPDX-License-Identifier: BSL-1.0
// CUDA's vector types, bit casts, integer intrinsics and mathematics for kernels under a host compiler; part of
// device.hpp. The lists below are the whole of what kernels may call.
#pragma once

#if !defined(KILN_EMULATOR_STANDALONE)
#include <math.h>
#include <stdlib.h>
#endif

#pragma GCC visibility push(hidden)

// ---- vector types, aligned as CUDA aligns them
// ---------------------------------------------------------------------------
#define KILN_EMULATOR_VECTORS(T, name, align2, align4) \
  struct name##1 {                                     \
    T x;                                               \
  };                                                   \
  struct alignas(align2) name##2 {                     \
    T x, y;                                            \
  };                                                   \
  struct alignas(align4) name##4 {                     \
    T x, y, z, w;                                      \
  };                                                   \
  inline name##2 make_##name##2(T x, T y) {            \
    return {x, y};                                     \
  }                                                    \
  inline name##4 make_##name##4(T x, T y, T z, T w) {  \
    return {x, y, z, w};                               \
  }
KILN_EMULATOR_VECTORS(signed char, char, 2, 4)
KILN_EMULATOR_VECTORS(unsigned char, uchar, 2, 4)
KILN_EMULATOR_VECTORS(short, short, 4, 8)
KILN_EMULATOR_VECTORS(unsigned short, ushort, 4, 8)
KILN_EMULATOR_VECTORS(int, int, 8, 16)
KILN_EMULATOR_VECTORS(unsigned, uint, 8, 16)
KILN_EMULATOR_VECTORS(float, float, 8, 16)
KILN_EMULATOR_VECTORS(double, double, 16, 16)
KILN_EMULATOR_VECTORS(long long, longlong, 16, 16)
KILN_EMULATOR_VECTORS(unsigned long long, ulonglong, 16, 16)
#undef KILN_EMULATOR_VECTORS

// ---- bits
// ------------------------------------------------------------------------------------------------------------------
inline int __float_as_int(float x) {
  return __builtin_bit_cast(int, x);
}
inline unsigned __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned, x);
}
inline float __int_as_float(int x) {
  return __builtin_bit_cast(float, x);
}
inline float __uint_as_float(unsigned x) {
  return __builtin_bit_cast(float, x);
}
inline long long __double_as_longlong(double x) {
  return __builtin_bit_cast(long long, x);
}
inline double __longlong_as_double(long long x) {
  return __builtin_bit_cast(double, x);
}
inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
inline int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
inline int __mulhi(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) * b) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using wide = unsigned __int128;
  return static_cast<unsigned long long>((static_cast<wide>(a) * b) >> 64);
}

// ---- mathematics: name(double), namef(float), and name(float) as in C++
// -----------------------------------------------------
#if defined(KILN_EMULATOR_STANDALONE)
#define KILN_EMULATOR_UNARY(name)                                                  \
  extern "C" __attribute__((visibility("default"))) double name(double) noexcept;  \
  extern "C" __attribute__((visibility("default"))) float name##f(float) noexcept; \
  inline float name(float x) noexcept {                                            \
    return name##f(x);                                                             \
  }
#define KILN_EMULATOR_BINARY(name)                                                        \
  extern "C" __attribute__((visibility("default"))) double name(double, double) noexcept; \
  extern "C" __attribute__((visibility("default"))) float name##f(float, float) noexcept; \
  inline float name(float x, float y) noexcept {                                          \
    return name##f(x, y);                                                                 \
  }
// clang-format off
KILN_EMULATOR_UNARY(sqrt) KILN_EMULATOR_UNARY(cbrt) KILN_EMULATOR_UNARY(fabs)
KILN_EMULATOR_UNARY(exp) KILN_EMULATOR_UNARY(exp2) KILN_EMULATOR_UNARY(exp10) KILN_EMULATOR_UNARY(expm1)
KILN_EMULATOR_UNARY(log) KILN_EMULATOR_UNARY(log2) KILN_EMULATOR_UNARY(log10) KILN_EMULATOR_UNARY(log1p)
KILN_EMULATOR_UNARY(sin) KILN_EMULATOR_UNARY(cos) KILN_EMULATOR_UNARY(tan)
KILN_EMULATOR_UNARY(asin) KILN_EMULATOR_UNARY(acos) KILN_EMULATOR_UNARY(atan)
KILN_EMULATOR_UNARY(sinh) KILN_EMULATOR_UNARY(cosh) KILN_EMULATOR_UNARY(tanh)
KILN_EMULATOR_UNARY(asinh) KILN_EMULATOR_UNARY(acosh) KILN_EMULATOR_UNARY(atanh)
KILN_EMULATOR_UNARY(floor) KILN_EMULATOR_UNARY(ceil) KILN_EMULATOR_UNARY(trunc) KILN_EMULATOR_UNARY(round)
KILN_EMULATOR_UNARY(rint) KILN_EMULATOR_UNARY(nearbyint)
KILN_EMULATOR_UNARY(erf) KILN_EMULATOR_UNARY(erfc) KILN_EMULATOR_UNARY(tgamma) KILN_EMULATOR_UNARY(lgamma)
KILN_EMULATOR_BINARY(pow) KILN_EMULATOR_BINARY(atan2) KILN_EMULATOR_BINARY(fmod) KILN_EMULATOR_BINARY(remainder)
KILN_EMULATOR_BINARY(hypot) KILN_EMULATOR_BINARY(fmin) KILN_EMULATOR_BINARY(fmax) KILN_EMULATOR_BINARY(fdim)
KILN_EMULATOR_BINARY(copysign) KILN_EMULATOR_BINARY(nextafter)
// clang-format on
#undef KILN_EMULATOR_UNARY
#undef KILN_EMULATOR_BINARY
                                                        inline float fmaf(float x, float y, float z) noexcept {
  return __builtin_fmaf(x, y, z);
}
inline double fma(double x, double y, double z) noexcept {
  return __builtin_fma(x, y, z);
}
inline float fma(float x, float y, float z) noexcept {
  return __builtin_fmaf(x, y, z);
}
inline float ldexpf(float x, int e) noexcept {
  return __builtin_ldexpf(x, e);
}
inline double ldexp(double x, int e) noexcept {
  return __builtin_ldexp(x, e);
}
inline bool isnan(float x) noexcept {
  return __builtin_isnan(x);
}
inline bool isnan(double x) noexcept {
  return __builtin_isnan(x);
}
inline bool isinf(float x) noexcept {
  return __builtin_isinf(x);
}
inline bool isinf(double x) noexcept {
  return __builtin_isinf(x);
}
inline bool isfinite(float x) noexcept {
  return __builtin_isfinite(x);
}
inline bool isfinite(double x) noexcept {
  return __builtin_isfinite(x);
}
inline bool signbit(float x) noexcept {
  return __builtin_signbit(x);
}
inline bool signbit(double x) noexcept {
  return __builtin_signbit(x);
}
inline int abs(int x) noexcept {
  return x < 0 ? -x : x;
}
inline long long llabs(long long x) noexcept {
  return x < 0 ? -x : x;
}
inline long long abs(long long x) noexcept {
  return x < 0 ? -x : x;
}
inline float abs(float x) noexcept {
  return __builtin_fabsf(x);
}
inline double abs(double x) noexcept {
  return __builtin_fabs(x);
}
#endif

inline float rsqrtf(float x) {
  return 1 / __builtin_sqrtf(x);
}
inline double rsqrt(double x) {
  return 1 / __builtin_sqrt(x);
}
inline float rsqrt(float x) {
  return rsqrtf(x);
}

// Those with a cheaper, less exact form on the device: here in full.
inline float __expf(float x) {
  return __builtin_expf(x);
}
inline float __logf(float x) {
  return __builtin_logf(x);
}
inline float __log2f(float x) {
  return __builtin_log2f(x);
}
inline float __sinf(float x) {
  return __builtin_sinf(x);
}
inline float __cosf(float x) {
  return __builtin_cosf(x);
}
inline float __powf(float x, float y) {
  return __builtin_powf(x, y);
}
inline float __fdividef(float x, float y) {
  return x / y;
}
inline float __frcp_rn(float x) {
  return 1 / x;
}
inline float __frsqrt_rn(float x) {
  return rsqrtf(x);
}
inline float __saturatef(float x) {
  return x > 1 ? 1.0f : x > 0 ? x : 0.0f;
}
inline float __fmaf_rn(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
inline float __fadd_rn(float x, float y) {
  return x + y;
}
inline float __fsub_rn(float x, float y) {
  return x - y;
}
inline float __fmul_rn(float x, float y) {
  return x * y;
}
inline float __fdiv_rn(float x, float y) {
  return x / y;
}
inline float __fsqrt_rn(float x) {
  return __builtin_sqrtf(x);
}
inline double __dadd_rn(double x, double y) {
  return x + y;
}
inline double __dmul_rn(double x, double y) {
  return x * y;
}

#define KILN_EMULATOR_ORDER(T) \
  inline T min(T a, T b) {     \
    return b < a ? b : a;      \
  }                            \
  inline T max(T a, T b) {     \
    return a < b ? b : a;      \
  }
KILN_EMULATOR_ORDER(int)
KILN_EMULATOR_ORDER(unsigned)
KILN_EMULATOR_ORDER(long)
KILN_EMULATOR_ORDER(unsigned long)
KILN_EMULATOR_ORDER(long long)
KILN_EMULATOR_ORDER(unsigned long long)
#undef KILN_EMULATOR_ORDER
inline float min(float a, float b) {
  return __builtin_fminf(a, b);
}
inline float max(float a, float b) {
  return __builtin_fmaxf(a, b);
}
inline double min(double a, double b) {
  return __builtin_fmin(a, b);
}
inline double max(double a, double b) {
  return __builtin_fmax(a, b);
}

#pragma GCC visibility pop
