// SPDX-License-Identifier: BSL-1.0
// Folding values of many threads into one, in an order that does not depend on timing: within a warp by exchanging
// lanes, within a block over shared memory. Every thread gets the result. `fold` is how two partial results are joined.
#pragma once

#include <kernels/map.cuh>

namespace kiln::kernels {

/// The value of the lane whose number differs in the bits of `way`.
template <class T>
__device__ inline T from_lane(T x, int way, uint32 lanes = 0xffffffffu) {
  if constexpr (sizeof(T) < 4)
    return T(__shfl_xor_sync(lanes, int(x), way));
  else
    return __shfl_xor_sync(lanes, x, way);
}

struct adding {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

template <class T, class Fold>
__device__ inline T across_warp(T x, Fold fold) {
#pragma unroll
  for (int way = 16; way > 0; way /= 2) x = fold(x, from_lane(x, way));
  return x;
}

/// The same among neighbouring lanes, `Lanes` at a time. Other lanes of the warp may be elsewhere.
template <int Lanes, class T, class Fold>
__device__ inline T across_lanes(T x, Fold fold) {
  static_assert(Lanes < 32, "across_lanes: a whole warp folds with across_warp");
  const uint32 lanes = ((1u << Lanes) - 1) << (threadIdx.x % 32 / Lanes * Lanes);
#pragma unroll
  for (int way = Lanes / 2; way > 0; way /= 2) x = fold(x, from_lane(x, way, lanes));
  return x;
}
/// What lanes that stand at one place in their groups of `Lanes` have, folded over the groups of the warp.
template <int Lanes, class T, class Fold>
__device__ inline T across_groups(T x, Fold fold) {
#pragma unroll
  for (int way = 16; way >= Lanes; way /= 2) x = fold(x, from_lane(x, way));
  return x;
}

/// One word of shared memory per warp for each reduction; the block's warps leave their values there ...
template <class T, class Fold>
__device__ inline void leave(uint64* shared, T x, Fold fold) {
  x = across_warp(x, fold);
  if (threadIdx.x % 32 == 0) *reinterpret_cast<T*>(shared + threadIdx.x / 32) = x;
}
/// ... and after a barrier every warp folds them, each in the same order.
template <class T, class Fold>
__device__ inline T collect(const uint64* shared, T identity, Fold fold) {
  const int lane = int(threadIdx.x % 32), warps = int(blockDim.x / 32);
  const T x = lane < warps ? *reinterpret_cast<const T*>(shared + lane) : identity;
  return across_warp(x, fold);
}

/// What a block has folded, left for the block that ends last: a word for each block ...
template <class T>
__device__ inline void leave_share(uint64* shares, T x) {
  if (threadIdx.x == 0) *reinterpret_cast<T*>(shares + blockIdx.x) = x;
}
/// ... whether this block is that one, which then sees what all of them have left. `finished` is 0 before and after.
__device__ inline bool ends_last(uint32* finished) {
  bool last = false;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  return __syncthreads_or(last) != 0;
}
/// ... and what a thread of it makes of the shares that are its own, the same whichever block it is.
template <class T, class Fold>
__device__ inline T collect_shares(const uint64* shares, T x, Fold fold) {
  for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
    const uint64 bits = __ldcg(shares + i);
    x = fold(x, *reinterpret_cast<const T*>(&bits));
  }
  return x;
}

/// Steps of N neighbours, one for each of `Lanes` lanes, added up over the warps of a block: the first `some` sums
/// go to `to`. `left` has room for a step of each lane of each warp.
template <int Warps, int Lanes, int N, class T, class Index>
__device__ inline void store_sum_of_warps(vec<T, N>* left, const vec<T, N>& x, T* to, Index some) {
  static_assert(Lanes * N <= 32 * Warps, "store_sum_of_warps: a thread adds up one sum");
  const int lane = int(threadIdx.x % 32), place = int(threadIdx.x);
  if (lane < Lanes) left[place / 32 * Lanes + lane] = x;
  __syncthreads();
  if (place < Lanes * N && place < some) {
    const T* const places = reinterpret_cast<const T*>(left) + place;
    T sum = places[0];
#pragma unroll
    for (int warp = 1; warp < Warps; ++warp) sum += places[warp * Lanes * N];
    to[place] = sum;
  }
  __syncthreads();  // before the next one writes there
}

/// What is loaded from an index that is forgotten, or computed from a vector that is, the compiler loads and computes
/// again, and does not keep in registers from one pass to the next.
__device__ inline int32 forgotten(int32 i) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(i));
#endif
  return i;
}
__device__ inline int64 forgotten(int64 i) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+l"(i));
#endif
  return i;
}
template <class T, int N>
__device__ inline void forget(vec<T, N>& x) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(vec<T, N>) % 4 == 0) {
    union {
      vec<T, N> elements;
      uint32 words[sizeof(vec<T, N>) / 4];
    } both = {x};
#pragma unroll
    for (int k = 0; k < int(sizeof(vec<T, N>) / 4); ++k) asm volatile("" : "+r"(both.words[k]));
    x = both.elements;
  }
#else
  (void)x;
#endif
}

/// A vector copied to shared memory while the thread goes on (sm_80 and newer) ...
template <class T, int N>
__device__ inline void copy_ahead(vec<T, N>* to, const T* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const uint32 place = uint32(__cvta_generic_to_shared(to));
  if constexpr (sizeof(vec<T, N>) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(from), "n"(int(sizeof(vec<T, N>)))
                 : "memory");
#else
  *to = *reinterpret_cast<const vec<T, N>*>(from);
#endif
}
/// ... and until all of the thread's own copies are there.
__device__ inline void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// Steps of N neighbours, one per lane, folded over the first `Warps` warps of a block; the first warp gets the result.
/// `shared` holds 32 * Warps * N words.
template <int Warps, int N, class T, class Fold>
__device__ inline void fold_warps(uint64* shared, vec<T, N>& x, Fold fold) {
  T* const places = reinterpret_cast<T*>(shared);
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
#pragma unroll
  for (int k = 0; k < N; ++k) places[(warp * N + k) * 32 + lane] = x[k];
  __syncthreads();
  if (warp == 0) {
    for (int other = 1; other < Warps; ++other)
#pragma unroll
      for (int k = 0; k < N; ++k) x[k] = fold(x[k], places[(other * N + k) * 32 + lane]);
  }
  __syncthreads();  // before the next one writes there
}

}  // namespace kiln::kernels
