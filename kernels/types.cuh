// SPDX-License-Identifier: BSL-1.0
// Element types as they lie in memory, conversions between them, and vectors of elements. Half types are only stored:
// everything is computed in float. Nothing here needs a header of the CUDA toolkit; conversions are single instructions
// on the device and have a host branch for the emulator.
#pragma once

// A rule is one text for all types: what it compares with zero may be unsigned.
#if defined(__CUDACC__)
#pragma nv_diag_suppress 186
#endif

namespace kiln::kernels {

using int8 = signed char;
using int16 = short;
using int32 = int;
using int64 = long long;
using uint8 = unsigned char;
using uint16 = unsigned short;
using uint32 = unsigned int;
using uint64 = unsigned long long;

/// What each kernel does first. On sm_90 and newer it may have been launched while the kernel before it in its stream
/// still ran (programmatic dependent launch): it waits until that one has ended and what it wrote is there. Then the
/// next kernel may be launched, which waits likewise, so no memory is touched out of turn.
__device__ inline void begin_grid() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#elif defined(KILN_EMULATOR)
  __grid_dependency_wait();
#endif
}

template <class To, class From>
__device__ inline To bits_as(From x) {
  static_assert(sizeof(To) == sizeof(From), "bits_as: the sizes differ");
  union {
    From from;
    To to;
  } both = {x};
  return both.to;
}

template <class T>
__device__ inline T infinity();
template <>
__device__ inline float infinity<float>() {
  return bits_as<float>(0x7f800000u);
}
template <>
__device__ inline double infinity<double>() {
  return bits_as<double>(0x7ff0000000000000ull);
}
template <class T>
__device__ inline T nan();
template <>
__device__ inline float nan<float>() {
  return bits_as<float>(0x7fc00000u);
}
template <>
__device__ inline double nan<double>() {
  return bits_as<double>(0x7ff8000000000000ull);
}

/// IEEE 754 binary16, stored.
struct half {
  uint16 bits;
};
/// The upper 16 bits of a float, stored.
struct bfloat16 {
  uint16 bits;
};

__device__ inline float to_float(half x) {
#if defined(__CUDA_ARCH__)
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(x.bits));
  return out;
#else
  const uint32 sign = (x.bits & 0x8000u) << 16, exponent = (x.bits >> 10) & 31u, digits = x.bits & 1023u;
  if (exponent == 31) return bits_as<float>(sign | 0x7f800000u | (digits << 13));
  if (exponent != 0) return bits_as<float>(sign | ((exponent + 112u) << 23) | (digits << 13));
  const float size = float(digits) * 0x1p-24f;  // subnormal
  return sign ? -size : size;
#endif
}
__device__ inline float to_float(bfloat16 x) {
  return bits_as<float>(uint32(x.bits) << 16);
}

/// To the nearest half, ties to even; every NaN becomes the same one.
__device__ inline half to_half(float x) {
#if defined(__CUDA_ARCH__)
  half out;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
  return out;
#else
  const uint32 bits = bits_as<uint32>(x), size = bits & 0x7fffffffu, sign = (bits >> 16) & 0x8000u;
  if (size > 0x7f800000u) return {uint16(0x7fff)};
  if (size >= 0x477ff000u) return {uint16(sign | 0x7c00u)};  // 65520 and above round to infinity
  if (size < 0x38800000u) {  // subnormal: adding 1/2 leaves the digits that stay in the last bits
    return {uint16(sign | (bits_as<uint32>(bits_as<float>(size) + 0.5f) - 0x3f000000u))};
  }
  return {uint16(sign | ((size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13))};
#endif
}
/// To the nearest bfloat16, ties to even; every NaN becomes the same one.
__device__ inline bfloat16 to_bfloat16(float x) {
#if defined(__CUDA_ARCH__)
  bfloat16 out;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
  return out;
#else
  const uint32 bits = bits_as<uint32>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {uint16(0x7fff)};
  return {uint16((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
#endif
}

/// Floating point to a signed integer: truncated; the most negative value if it does not fit, as on the CPU. (The
/// instruction would give the nearest that fits.)
template <class To, class From>
__device__ inline To truncated(From x) {
  constexpr From top = sizeof(To) == 4 ? From(2147483648.0) : From(9223372036854775808.0);
  return x >= -top && x < top ? To(x) : To(uint64(1) << (8 * sizeof(To) - 1));
}

/// What a stored element is computed in.
template <class T>
struct computed_in {
  using type = T;
};
template <>
struct computed_in<half> {
  using type = float;
};
template <>
struct computed_in<bfloat16> {
  using type = float;
};

template <class T>
inline constexpr bool is_floating = false;
template <>
inline constexpr bool is_floating<float> = true;
template <>
inline constexpr bool is_floating<double> = true;

/// Conversion between types that are computed in.
template <class To, class From>
struct conversion {
  static __device__ inline To of(From x) {
    if constexpr (is_floating<From> && !is_floating<To>) {
      if constexpr (sizeof(To) == 1 && To(-1) > To(0))
        return To(truncated<int64>(x));  // as in PyTorch
      else if constexpr (sizeof(To) < 4)
        return To(truncated<int32>(x));
      else
        return truncated<To>(x);
    } else {
      return To(x);
    }
  }
};
template <class T>
struct conversion<T, T> {
  static __device__ inline T of(T x) { return x; }
};
template <class From>
struct conversion<bool, From> {
  static __device__ inline bool of(From x) { return x != From(0); }
};
template <>
struct conversion<bool, bool> {
  static __device__ inline bool of(bool x) { return x; }
};
template <class To, class From>
__device__ inline To convert(From x) {
  return conversion<To, From>::of(x);
}

/// An element as it is computed with.
template <class T>
__device__ inline typename computed_in<T>::type value_of(T x) {
  return x;
}
__device__ inline float value_of(half x) {
  return to_float(x);
}
__device__ inline float value_of(bfloat16 x) {
  return to_float(x);
}
/// A value as it is stored.
template <class T>
struct storing {
  static __device__ inline T of(T x) { return x; }
};
template <>
struct storing<half> {
  static __device__ inline half of(float x) { return to_half(x); }
};
template <>
struct storing<bfloat16> {
  static __device__ inline bfloat16 of(float x) { return to_bfloat16(x); }
};
template <class T, class From>
__device__ inline T stored_as(From x) {
  return storing<T>::of(convert<typename computed_in<T>::type>(x));
}
/// A value rounded through a half type.
template <class T>
__device__ inline float rounded_through(float x) {
  return value_of(storing<T>::of(x));
}

/// N elements that a load or store moves at once.
template <class T, int N>
struct alignas(sizeof(T) * N) vec {
  T at[N];
  __device__ inline T& operator[](int i) { return at[i]; }
  __device__ inline const T& operator[](int i) const { return at[i]; }
};

/// Element k as it is computed with.
template <class T, int N>
__device__ inline typename computed_in<T>::type value_at(const vec<T, N>& x, int k) {
  return value_of(x[k]);
}
/// Of two neighbours in a word one instruction makes the one, another the other.
template <int N>
__device__ inline float value_at(const vec<bfloat16, N>& x, int k) {
  if constexpr (N % 2 == 0) {
    union {
      vec<bfloat16, N> elements;
      uint32 words[N / 2];
    } both = {x};
    const uint32 word = both.words[k / 2];
    return bits_as<float>(k % 2 != 0 ? word & 0xffff0000u : word << 16);
  } else {
    return to_float(x[k]);
  }
}

}  // namespace kiln::kernels
