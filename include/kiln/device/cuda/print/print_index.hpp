// SPDX-License-Identifier: BSL-1.0
// The kernels of gather, scatter and scatter_add: kernels/index.cuh for one element type and one type of index.
#pragma once

#include <kiln/core/index_job.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/print/print_fixed.hpp>

namespace kiln::cuda {

/// What kernels/index.cuh holds.
enum class index_kernel : std::uint8_t {
  gather,
  scatter,
  scatter_add,
  make_keys,
  radix_count,
  radix_scan,
  radix_place,
  sum_chunks,
  sum_in_order
};

/// Keys that a block of the radix sort takes at once.
inline constexpr std::int64_t radix_tile = 2048;
/// Terms of one place that a thread adds up: more are cut into chunks of so many.
inline constexpr std::int64_t sum_chunk = 256;

/// The kernel for elements of this type (where it has any), an index of int64 or int32, and a walk that counts in 64
/// bits (index_walk) or 32 (index_walk32). Parameters:
///   gather:                T* values, const T* table, const I* index, index_walk, uint32* fault
///   scatter, scatter_add:  T* table, const T* values, const I* index, index_walk, uint32* fault
///   make_keys:             uint64* keys, const I* index, index_walk, uint32* fault
///   radix_count:           const uint64* keys, int64 n, int32 shift, uint32* counts, int64 tiles
///   radix_scan:            uint32* counts, uint32* totals, int64 tiles
///   radix_place:           const uint64* keys, uint64* sorted, int64 n, int32 shift, const uint32* counts,
///                          const uint32* totals, int64 tiles
///   sum_chunks:            Sum* sums, const T* values, const uint64* keys, index_walk keys, index_walk rest
///   sum_in_order:          T* table, const T* values, const uint64* keys, const Sum* sums, index_walk keys,
///                          index_walk rest
source print_index(index_kernel which, dtype type, bool wide, bool wide_walk);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_index_impl.hpp>
#endif
