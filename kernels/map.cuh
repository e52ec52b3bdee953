// SPDX-License-Identifier: BSL-1.0
// What maps are made of: which steps a thread takes, dividing by sizes that are known before the launch, and loads and
// stores of N neighbours, of which only the first `some` exist at the end of a run.
#pragma once

#include <kernels/math.cuh>

namespace kiln::kernels {

template <class Index>
__device__ inline Index first_thread() {
  return Index(blockIdx.x) * Index(blockDim.x) + Index(threadIdx.x);
}
template <class Index>
__device__ inline Index all_threads() {
  return Index(gridDim.x) * Index(blockDim.x);
}

/// x / n for 0 <= x < 2^31, by multiplying with what the host made of n.
struct divisor32 {
  uint32 magic, shift;
};
struct divisor64 {
  int64 n;
};
__device__ inline int32 divided(int32 x, divisor32 by) {
  const uint32 high = uint32((uint64(uint32(x)) * by.magic) >> 32);
  return int32((high + uint32(x)) >> by.shift);
}
__device__ inline int64 divided(int64 x, divisor64 by) {
  return x / by.n;
}

/// As many blocks of 256 threads as a multiprocessor has threads for: what kernels of 32 registers may ask for.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || \
                               __CUDA_ARCH__ >= 1200)
inline constexpr int full_blocks = 6;
#else
inline constexpr int full_blocks = 8;
#endif

template <int N, class Index>
__device__ inline int at_most(Index left) {
  return left < Index(N) ? int(left) : N;
}

/// N neighbours at an address aligned for all of them.
template <int N, class T>
__device__ inline vec<T, N> load_vector(const T* from, int some) {
  if (some == N) return *reinterpret_cast<const vec<T, N>*>(from);
  vec<T, N> out = {};
#pragma unroll
  for (int k = 0; k < N; ++k)
    if (k < some) out[k] = from[k];  // by constant k: another would put `out` into memory
  return out;
}
template <int N, class T, class Index>
__device__ inline vec<T, N> load_strided(const T* from, Index stride, int some) {
  vec<T, N> out = {};
#pragma unroll
  for (int k = 0; k < N; ++k)
    if (k < some) out[k] = from[k * stride];
  return out;
}
template <int N, class T>
__device__ inline vec<T, N> load_each(const T* from, int some) {
  return load_strided<N>(from, 1, some);
}

template <int N, class T>
__device__ inline void store_vector(T* to, const vec<T, N>& values, int some) {
  if (some == N) {
    *reinterpret_cast<vec<T, N>*>(to) = values;
  } else {
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (k < some) to[k] = values[k];
  }
}
template <int N, class T, class Index>
__device__ inline void store_strided(T* to, Index stride, const vec<T, N>& values, int some) {
#pragma unroll
  for (int k = 0; k < N; ++k)
    if (k < some) to[k * stride] = values[k];
}
template <int N, class T>
__device__ inline void store_each(T* to, const vec<T, N>& values, int some) {
  store_strided(to, 1, values, some);
}

/// Where elements lie, for ops that take that: walked like the elements themselves, and not read.
template <class T>
struct addresses {
  const T* at;
  __device__ inline const T* operator*() const { return at; }
};
template <class T, class Index>
__device__ inline addresses<T> operator+(addresses<T> from, Index way) {
  return {from.at + way};
}

/// An index for an axis of `size` elements. Another one is reported through `fault` and becomes 0.
template <class I>
__device__ inline I checked_index(I index, I size, uint32& fault) {
  if (index >= 0 && index < size) return index;
  fault = 2;
  return 0;
}
/// The element `way` elements from an address.
template <class T>
__device__ inline typename computed_in<T>::type taken(int64 way, const T* address) {
  return value_of(address[way]);
}

/// N neighbours `way` elements from an address, moved at once where they lie so.
template <int N, class T>
__device__ inline vec<T, N> taken_together(int64 way, const T* address, int some) {
  const T* const from = address + way;
  return reinterpret_cast<uint64>(from) % sizeof(vec<T, N>) == 0 ? load_vector<N>(from, some)
                                                                 : load_each<N>(from, some);
}

/// Several such steps of one row, each `apart` elements from the one before, whose loads are under way together. `left`
/// elements of the row exist from the first step on.
template <int N, int Steps, class T, class Index>
__device__ inline void take_steps(vec<T, N> (&out)[Steps], int64 way, const T* address, Index apart, Index left) {
  const T* const from = address + way;
  const bool aligned = reinterpret_cast<uint64>(from) % sizeof(vec<T, N>) == 0;  // then all steps are
  if (aligned && left >= (Steps - 1) * apart + N) {
#pragma unroll
    for (int u = 0; u < Steps; ++u) out[u] = load_vector<N>(from + u * apart, N);
  } else {
#pragma unroll
    for (int u = 0; u < Steps; ++u) {
      const int some = at_most<N>(left - u * apart);
      out[u] = aligned && some == N ? load_vector<N>(from + u * apart, N) : load_each<N>(from + u * apart, some);
    }
  }
}

/// Adds to what is there, in the type that is computed in, and rounds once.
template <int N, class T, class Index, class V>
__device__ inline void add_strided(T* to, Index stride, const vec<V, N>& values, int some) {
#pragma unroll
  for (int k = 0; k < N; ++k)
    if (k < some) to[k * stride] = stored_as<T>(value_of(to[k * stride]) + values[k]);
}
template <int N, class T, class V>
__device__ inline void add_each(T* to, const vec<V, N>& values, int some) {
  add_strided(to, 1, values, some);
}
template <int N, class T, class V>
__device__ inline void add_vector(T* to, const vec<V, N>& values, int some) {
  const vec<T, N> before = load_vector<N>(to, some);
  vec<T, N> after;
#pragma unroll
  for (int k = 0; k < N; ++k) after[k] = stored_as<T>(value_of(before[k]) + values[k]);
  store_vector(to, after, some);
}

}  // namespace kiln::kernels
