// SPDX-License-Identifier: BSL-1.0
// Folding over the blocks of a cluster (sm_90 and newer), which reach each other's shared memory.
#pragma once

#include <kernels/reduce.cuh>

namespace kiln::kernels {

/// All threads of a cluster meet: what they wrote before, to whichever block's shared memory, is there. They do so
/// before one writes to another's, which may not have begun, and when the last has been read, before a block ends.
__device__ inline void meet_cluster() {
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
}

/// Each warp leaves its value with every block of the cluster, which has 32 words for each block; ...
template <int Blocks, class T, class Fold>
__device__ inline void leave_in_cluster(uint64* shared, T x, Fold fold) {
  x = across_warp(x, fold);
  const int lane = int(threadIdx.x % 32);
  if (lane >= Blocks) return;
  void* const there = __cluster_map_shared_rank(shared, unsigned(lane));
  *reinterpret_cast<T*>(static_cast<uint64*>(there) + blockIdx.x % Blocks * 32 + threadIdx.x / 32) = x;
}
/// ... and when all have met every warp folds them, each in the same order.
template <int Blocks, class T, class Fold>
__device__ inline T collect_in_cluster(const uint64* shared, T identity, Fold fold) {
  const int lane = int(threadIdx.x % 32), warps = int(blockDim.x / 32);
  T x = identity;
  if (lane < warps) {
    x = *reinterpret_cast<const T*>(shared + lane);
#pragma unroll
    for (int block = 1; block < Blocks; ++block)
      x = fold(x, *reinterpret_cast<const T*>(shared + block * 32 + lane));
  }
  return across_warp(x, fold);
}

}  // namespace kiln::kernels
