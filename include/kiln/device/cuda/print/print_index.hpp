// SPDX-License-Identifier: BSL-1.0
// The kernels of gather, scatter and scatter_add: kernels/index.cuh for one element type and one type of index.
#pragma once

#include <kiln/core/index_job.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/print/print_fixed.hpp>

namespace kiln::cuda {

/// What kernels/index.cuh holds.
enum class index_kernel : std::uint8_t { gather, scatter, scatter_add, make_keys, sort_step, sort_tiles, sum_in_order };

/// Threads of a block of sort_tiles, which sorts twice as many keys in shared memory.
inline constexpr int sort_threads = 512;

/// The kernel for elements of this type (where it has any) and an index of int64 or int32 (likewise). Parameters:
///   gather:                T* values, const T* table, const I* index, index_walk, uint32* fault
///   scatter, scatter_add:  T* table, const T* values, const I* index, index_walk, uint32* fault
///   make_keys:             uint64* keys, int64 room, const I* index, index_walk, uint32* fault
///   sort_step:             uint64* keys, int64 room, int64 run, int64 way
///   sort_tiles:            uint64* keys, int64 room, int64 first_run, int64 last_run
///   sum_in_order:          T* table, const T* values, const uint64* keys, index_walk keys, index_walk rest
source print_index(index_kernel which, dtype type, bool wide);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_index_impl.hpp>
#endif
