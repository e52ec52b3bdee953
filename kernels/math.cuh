// SPDX-License-Identifier: BSL-1.0
// The functions that value rules of ops call, with the same special values as on the CPU: NaNs pass through minimum and
// maximum, integers wrap around, shifts by too much lose every bit. The elementary functions are CUDA's own, in full
// precision.
#pragma once

#include <kernels/types.cuh>

namespace kiln::kernels {

// clang-format off
template <class T>
__device__ inline T where(bool condition, T a, T b) {
  return condition ? a : b;
}

__device__ inline bool isnan(float x) { return x != x; }
__device__ inline bool isnan(double x) { return x != x; }
__device__ inline float abs(float x) { return ::fabsf(x); }
__device__ inline double abs(double x) { return ::fabs(x); }
__device__ inline bool isinf(float x) { return abs(x) == infinity<float>(); }
__device__ inline bool isinf(double x) { return abs(x) == infinity<double>(); }
__device__ inline bool isfinite(float x) { return abs(x) < infinity<float>(); }
__device__ inline bool isfinite(double x) { return abs(x) < infinity<double>(); }

// ---- integers -------------------------------------------------------------------------------------------------------

template <class T>
struct bits_of;
template <>
struct bits_of<int8> {
  using type = uint8;
};
template <>
struct bits_of<uint8> {
  using type = uint8;
};
template <>
struct bits_of<int16> {
  using type = uint16;
};
template <>
struct bits_of<int32> {
  using type = uint32;
};
template <>
struct bits_of<int64> {
  using type = uint64;
};
template <class T>
using bits_of_t = typename bits_of<T>::type;

template <class T>
inline constexpr bool is_signed = T(-1) < T(0);
template <class T>
__device__ inline bool below_zero(T x) {
  if constexpr (is_signed<T>)
    return x < T(0);
  else
    return false;
}

template <class T>
__device__ inline T plus(T a, T b) {
  return T(uint64(a) + uint64(b));
}
template <>
__device__ inline int32 plus(int32 a, int32 b) {
  return int32(uint32(a) + uint32(b));
}
template <class T>
__device__ inline T minus(T a, T b) {
  return T(uint64(a) - uint64(b));
}
template <>
__device__ inline int32 minus(int32 a, int32 b) {
  return int32(uint32(a) - uint32(b));
}
template <class T>
__device__ inline T times(T a, T b) {
  return T(uint64(a) * uint64(b));
}
template <>
__device__ inline int32 times(int32 a, int32 b) {
  return int32(uint32(a) * uint32(b));
}
template <class T>
__device__ inline T negative(T x) {
  return minus(T(0), x);
}
template <class T>
__device__ inline T abs(T x) {
  return below_zero(x) ? negative(x) : x;
}
template <class T>
__device__ inline T sign(T x) {
  return T(int(x != T(0)) - 2 * int(below_zero(x)));
}
template <class T>
__device__ inline T shift_left(T a, T by) {
  return below_zero(by) || by >= T(8 * sizeof(T)) ? T(0) : T(bits_of_t<T>(bits_of_t<T>(a) << by));
}
template <class T>
__device__ inline T shift_right(T a, T by) {
  if (below_zero(by) || by >= T(8 * sizeof(T))) return below_zero(a) ? T(-1) : T(0);
  return T(a >> by);
}

/// A zero divisor is reported through `fault`, which the host turns into an error; the value is then 0.
template <class T>
__device__ inline T fmod(T a, T b, uint32& fault) {
  if (b == T(0)) {
    fault = 1;
    return T(0);
  }
  if (is_signed<T> && b == T(-1)) return T(0);  // the quotient of the smallest integer would overflow
  return T(a % b);
}
template <class T>
__device__ inline T remainder(T a, T b, uint32& fault) {
  const T r = fmod(a, b, fault);
  return r != T(0) && below_zero(r) != below_zero(b) ? T(r + b) : r;
}

// ---- choosing -------------------------------------------------------------------------------------------------------

template <class T>
__device__ inline T minimum(T a, T b) {
  return a != a ? a : a < b ? a : b;
}
template <class T>
__device__ inline T maximum(T a, T b) {
  return a != a ? a : a > b ? a : b;
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// One instruction, for which -0 is less than 0; the rule above takes the second of two zeros.
template <>
__device__ inline float minimum(float a, float b) {
  float least;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
  return least;
}
template <>
__device__ inline float maximum(float a, float b) {
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
  return most;
}
#endif
__device__ inline float sign(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x != x ? x : 0.0f; }
__device__ inline double sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x != x ? x : 0.0; }

// ---- floating point -----------------------------------------------------------------------------------------------

__device__ inline float floor(float x) { return ::floorf(x); }
__device__ inline double floor(double x) { return ::floor(x); }
__device__ inline float ceil(float x) { return ::ceilf(x); }
__device__ inline double ceil(double x) { return ::ceil(x); }
__device__ inline float trunc(float x) { return ::truncf(x); }
__device__ inline double trunc(double x) { return ::trunc(x); }
__device__ inline float round(float x) { return ::rintf(x); }  // ties to even
__device__ inline double round(double x) { return ::rint(x); }
__device__ inline float sqrt(float x) { return ::sqrtf(x); }
__device__ inline double sqrt(double x) { return ::sqrt(x); }
__device__ inline float reciprocal(float x) { return 1.0f / x; }
__device__ inline double reciprocal(double x) { return 1.0 / x; }
#if defined(__CUDA_ARCH__)
__device__ inline float rsqrt(float x) { return ::rsqrtf(x); }
__device__ inline double rsqrt(double x) { return ::rsqrt(x); }
#else
__device__ inline float rsqrt(float x) { return 1.0f / ::sqrtf(x); }
__device__ inline double rsqrt(double x) { return 1.0 / ::sqrt(x); }
#endif

__device__ inline float exp(float x) { return ::expf(x); }
__device__ inline double exp(double x) { return ::exp(x); }
__device__ inline float exp2(float x) { return ::exp2f(x); }
__device__ inline double exp2(double x) { return ::exp2(x); }
__device__ inline float expm1(float x) { return ::expm1f(x); }
__device__ inline double expm1(double x) { return ::expm1(x); }
/// 1 / (1 + exp(-x)); for negative x from exp(x), which keeps its digits where the result is tiny.
template <class T>
__device__ inline T sigmoid(T x) {
  const T e = exp(-abs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}
__device__ inline float log(float x) { return ::logf(x); }
__device__ inline double log(double x) { return ::log(x); }
__device__ inline float log2(float x) { return ::log2f(x); }
__device__ inline double log2(double x) { return ::log2(x); }
__device__ inline float log10(float x) { return ::log10f(x); }
__device__ inline double log10(double x) { return ::log10(x); }
__device__ inline float log1p(float x) { return ::log1pf(x); }
__device__ inline double log1p(double x) { return ::log1p(x); }

__device__ inline float sin(float x) { return ::sinf(x); }
__device__ inline double sin(double x) { return ::sin(x); }
__device__ inline float cos(float x) { return ::cosf(x); }
__device__ inline double cos(double x) { return ::cos(x); }
__device__ inline float tan(float x) { return ::tanf(x); }
__device__ inline double tan(double x) { return ::tan(x); }
__device__ inline float asin(float x) { return ::asinf(x); }
__device__ inline double asin(double x) { return ::asin(x); }
__device__ inline float acos(float x) { return ::acosf(x); }
__device__ inline double acos(double x) { return ::acos(x); }
__device__ inline float atan(float x) { return ::atanf(x); }
__device__ inline double atan(double x) { return ::atan(x); }
__device__ inline float atan2(float y, float x) { return ::atan2f(y, x); }
__device__ inline double atan2(double y, double x) { return ::atan2(y, x); }
__device__ inline float sinh(float x) { return ::sinhf(x); }
__device__ inline double sinh(double x) { return ::sinh(x); }
__device__ inline float cosh(float x) { return ::coshf(x); }
__device__ inline double cosh(double x) { return ::cosh(x); }
__device__ inline float tanh(float x) { return ::tanhf(x); }
__device__ inline double tanh(double x) { return ::tanh(x); }
__device__ inline float asinh(float x) { return ::asinhf(x); }
__device__ inline double asinh(double x) { return ::asinh(x); }
__device__ inline float acosh(float x) { return ::acoshf(x); }
__device__ inline double acosh(double x) { return ::acosh(x); }
__device__ inline float atanh(float x) { return ::atanhf(x); }
__device__ inline double atanh(double x) { return ::atanh(x); }

/// Of integers, wrapping around; 1 / x^-y without its fraction for negative y, and 0 for that of 0.
template <class T>
__device__ inline T pow(T x, T y) {
  if (below_zero(y)) return x == T(1) ? x : x == T(-1) ? (y & T(1) ? x : T(1)) : T(0);
  uint64 base = uint64(x), rest = uint64(y), out = 1;
  for (; rest != 0; rest >>= 1, base *= base)
    if (rest & 1) out *= base;
  return T(out);
}
__device__ inline float pow(float x, float y) { return ::powf(x, y); }
__device__ inline double pow(double x, double y) { return ::pow(x, y); }
__device__ inline float hypot(float x, float y) { return ::hypotf(x, y); }
__device__ inline double hypot(double x, double y) { return ::hypot(x, y); }
__device__ inline float fmod(float x, float y) { return ::fmodf(x, y); }
__device__ inline double fmod(double x, double y) { return ::fmod(x, y); }
__device__ inline float remainder(float x, float y) {
  const float r = ::fmodf(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
__device__ inline double remainder(double x, double y) {
  const double r = ::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
__device__ inline float erf(float x) { return ::erff(x); }
__device__ inline double erf(double x) { return ::erf(x); }
__device__ inline float erfc(float x) { return ::erfcf(x); }
__device__ inline double erfc(double x) { return ::erfc(x); }
__device__ inline float fused(float a, float b, float c) { return ::fmaf(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return ::fma(a, b, c); }
/// exp(-x * x / 2); the square in two parts, so that nothing of it is lost. Beyond 100 it is 0.
template <class T>
__device__ inline T gaussian(T x) {
  const T t = abs(x) > T(100) ? T(100) : x, square = t * t;
  return exp(T(-0.5) * square) * (T(1) - T(0.5) * fused(t, t, -square));
}
/// The normal distribution function. erfc multiplies what its argument was rounded off by twice that argument; `rest`
/// is how much that was.
template <class T>
__device__ inline T ndtr(T x) {
  const T below = x < T(-40) ? T(-40) : x, z = below * T(-0.70710678118654752440), tail = T(0.5) * erfc(z);
  const T little = below * T(sizeof(T) == 4 ? 1.210161710447897e-08 : -4.833646656726457e-17);
  const T rest = fused(below, T(-0.70710678118654752440), -z) - little;
  return z > T(0) ? tail - tail * (T(2) * z * rest) : tail;
}

// clang-format on

}  // namespace kiln::kernels
