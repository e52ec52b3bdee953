// SPDX-License-Identifier: BSL-1.0
// The kernels of gather, scatter and scatter_add: kernels/index.cuh and index_sums.cuh for one element type and one
// type of index.
#pragma once

#include <cstdint>
#include <vector>

#include <kiln/core/index_job.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/print/print_fixed.hpp>

namespace kiln::cuda {

/// The kernels of kernels/index.cuh, then those of index_sums.cuh.
enum class index_kernel : std::uint8_t {
  gather,
  scatter,
  scatter_add,
  count_digits,
  sort_tile,
  first_pass,
  next_pass,
  sum_in_order
};
inline constexpr index_kernel all_index_kernels[] = {
    index_kernel::gather,    index_kernel::scatter,    index_kernel::scatter_add, index_kernel::count_digits,
    index_kernel::sort_tile, index_kernel::first_pass, index_kernel::next_pass,   index_kernel::sum_in_order};

/// Threads of a block that sorts, and of one that counts digits.
inline constexpr int sort_threads = 256, count_threads = 512;
/// Keys that a block of the radix sort takes at once.
inline constexpr std::int64_t sort_tile = 4096;
/// Bits that a pass sorts by, and passes: at most.
inline constexpr int most_digit_bits = 11, most_passes = 3;
/// Terms of one place that a thread adds up: more are cut into chunks of so many.
inline constexpr std::int64_t sum_chunk = 256;

/// A kernel for elements of a type and what it indexes by.
struct index_kernel_types {
  dtype type = dtype::float32;
  bool wide = true;       ///< the index is int64, else int32
  bool wide_walk = true;  ///< the walk counts in 64 bits (index_walk), else in 32 (index_walk32)
  int step = 1;           ///< sum_in_order: neighbours of a row that a thread takes at once
};

/// Elements that 16 bytes hold: the step of sum_in_order where rows are contiguous and aligned.
constexpr int widest_step(dtype type) {
  return static_cast<int>(16 / size_of(type));
}

/// Parameters:
///   gather:                T* values, const T* table, const I* index, index_walk, uint32* fault
///   scatter, scatter_add:  T* table, const T* values, const I* index, index_walk, uint32* fault
///   count_digits:          uint32* counts, const I* index, index_walk, uint32 places, int32 bits, int32 passes,
///                          uint32* zeroed, int64 words, uint32* fault
///   sort_tile:             entry* first, entry* second, const I* index, index_walk, uint32 places, int32 bits,
///                          int32 passes, uint32* zeroed, int64 words, uint32* fault
///   first_pass:            entry* sorted, const I* index, index_walk, uint32 places, int32 bits, const uint32* counts,
///                          int32 counting, uint32* states, uint32* next_tile
///   next_pass:             entry* sorted, const entry* entries, int64 n, int32 shift, int32 bits,
///                          const uint32* counts, int32 counting, uint32* states, uint32* next_tile
///   sum_in_order:          T* table, const T* values, const entry* entries, vec<Sum, step>* sums, uint32* arrived,
///                          index_walk keys, index_walk rest, int64 unit, uint32 places, int32 window_bits
source print_index(index_kernel which, const index_kernel_types& types);

/// All kernels that elements of a type may need.
std::vector<source> index_kernels_of(dtype type);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_index_impl.hpp>
#endif
