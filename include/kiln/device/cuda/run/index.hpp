// SPDX-License-Identifier: BSL-1.0
// gather, scatter and scatter_add on a GPU. Sums are made in a fixed order unless that is switched off: the positions
// are sorted by the place that they go to (kernels/index_sums.cuh), which costs sixteen bytes per index and five
// launches at most, of up to 4096 indices two. The terms of a place are added in the order of the positions, beyond 256
// of them in chunks of so many.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/device.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/plan/source.hpp>
#include <kiln/device/cuda/print/print_index.hpp>

namespace kiln::cuda {

namespace detail {

inline std::atomic<bool> sums_in_order = true;

/// What divides by a size on the device (kernels/map.cuh).
struct divisor64 {
  std::int64_t n = 1;
  explicit divisor64(std::int64_t by = 1) : n(by) {}
};
struct divisor32 {
  std::uint32_t magic = 1, shift = 0;
  explicit divisor32(std::int64_t by = 1)
      : magic(static_cast<std::uint32_t>(divisor_bits(by))),
        shift(static_cast<std::uint32_t>(divisor_bits(by) >> 32)) {}
};

/// The walks of kernels/index.cuh.
template <class Index, class Divisor>
struct index_walk_by {
  Index sizes[8] = {}, table[8] = {}, values[8] = {}, index[8] = {};
  Divisor by[8], by_beside;
  Index elements = 1, axis_stride = 0, axis_size = 0;
  std::int32_t rank = 0;
};
using index_walk = index_walk_by<std::int64_t, divisor64>;
using index_walk32 = index_walk_by<std::int32_t, divisor32>;
static_assert(max_rank == 8);

/// The axes of a job for which `belongs` is true; neighbours that all operands walk through in one stride are one.
template <class Belongs>
index_walk walk_over(const index_job& job, Belongs belongs) {
  index_walk w;
  w.axis_stride = job.axis_stride;
  w.axis_size = job.axis_size;
  for (int i = 0; i < job.domain.rank(); ++i) {
    const std::int64_t size = job.domain[i];
    if (!belongs(i) || size == 1) continue;
    const int last = w.rank - 1;
    const bool joins = last >= 0 && w.table[last] == job.table_strides[i] * size &&
                       w.values[last] == job.value_strides[i] * size && w.index[last] == job.index_strides[i] * size;
    const int d = joins ? last : w.rank++;
    w.sizes[d] = joins ? w.sizes[d] * size : size;
    w.table[d] = job.table_strides[i];
    w.values[d] = job.value_strides[i];
    w.index[d] = job.index_strides[i];
    w.by[d] = divisor64(w.sizes[d]);
    w.elements *= size;
  }
  return w;
}

/// The largest offset from the beginning of an operand that a walk comes to.
inline std::int64_t reach_of(const index_walk& w, const std::int64_t* strides, std::int64_t first = 0) {
  for (int d = 0; d < w.rank; ++d) first += std::abs(strides[d]) * (w.sizes[d] - 1);
  return first;
}
/// Whether 32 bits count what a walk does, with room for a grid's threads beyond the end.
inline bool fits_32(const index_walk& w) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  return w.elements < most && w.axis_size < most && reach_of(w, w.values) < most && reach_of(w, w.index) < most &&
         reach_of(w, w.table, std::abs(w.axis_stride) * (w.axis_size - 1)) < most;
}
inline index_walk32 in_32(const index_walk& w) {
  index_walk32 narrow;
  for (int d = 0; d < w.rank; ++d) {
    narrow.sizes[d] = static_cast<std::int32_t>(w.sizes[d]);
    narrow.table[d] = static_cast<std::int32_t>(w.table[d]);
    narrow.values[d] = static_cast<std::int32_t>(w.values[d]);
    narrow.index[d] = static_cast<std::int32_t>(w.index[d]);
    narrow.by[d] = divisor32(w.sizes[d]);
  }
  narrow.by_beside = divisor32(w.by_beside.n);
  narrow.elements = static_cast<std::int32_t>(w.elements);
  narrow.axis_stride = static_cast<std::int32_t>(w.axis_stride);
  narrow.axis_size = static_cast<std::int32_t>(w.axis_size);
  narrow.rank = w.rank;
  return narrow;
}

/// How the positions of a job that adds in order are sorted, and where the sorted entries and the sums of chunks lie.
struct sorted_sums {
  index_walk walk, rest;    ///< over what the index moves along, and beside it, in steps of a row
  std::int64_t unit = 1;    ///< elements from one place to the next: walk.table and walk.axis_stride count in these
  std::int64_t places = 0;  ///< one more than the last place
  int step = 1;             ///< neighbours of a row that a thread takes at once
  bool wide = true;         ///< 32 bits do not count all of it
  std::int32_t bits = 0, passes = 0;  ///< of the sort, lowest bits first
  std::int32_t window_bits = 0;       ///< a thread looks for chunks among 2^window_bits entries
  // Bytes from the beginning of the memory for it.
  std::size_t entries[2] = {}, counts = 0, zeroed = 0, sums = 0, bytes = 0;
  std::int64_t arrived_words = 0, zeroed_words = 0;
  std::int32_t counting = 0;  ///< blocks that count digits
  std::int64_t tiles = 0;     ///< that the sort takes; one has a kernel of its own

  sorted_sums(const index_job& job, dtype type, const device_properties& device);
};

class index_run {
 public:
  index_run(const index_job& job, dtype type, Cuda device);
  void each_by_itself(index_kernel which);
  void in_order();

 private:
  template <std::size_t N>
  void launch(index_kernel which, std::int64_t items, const void* const (&arguments)[N], int threads = 256,
              int step = 1);

  index_job job_;
  dtype type_;
  const stream& where_;
  std::uint32_t* fault_;
  bool wide_ = true;  // walks count in 64 bits
};

}  // namespace detail

/// Whether sums that depend on the order of their terms (scatter_add, and the gradients of gather and index_select) are
/// made in a fixed order, so that each run gives the same bits; on at first. Off, those of other types than half and
/// bfloat16 are made with atomics: faster where few positions share a place. Gradients of attention in half types then
/// add up in any order too, where cuDNN computes them.
void set_deterministic(bool on);
bool deterministic();

/// Queues a job over elements of a type. An index that names no place is reported when values are read, as an
/// index_error; a gather gives zero there, the others pass it over. Throws shape_error for a scatter_add in order of
/// 2^30 indices or more, or into 2^32 - 1 places or more; device_error.
void run_index(const index_job& job, dtype type, Cuda device);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/run/index_impl.hpp>
#endif
