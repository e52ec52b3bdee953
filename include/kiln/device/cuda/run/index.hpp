// SPDX-License-Identifier: BSL-1.0
// gather, scatter and scatter_add on a GPU. Sums are made in a fixed order unless that is switched off: the positions
// are sorted by the place that they go to, which costs a few launches and sixteen bytes per index. The terms of a place
// are added in the order of the positions, beyond 256 of them in chunks of so many.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/plan/source.hpp>
#include <kiln/device/cuda/print/print_index.hpp>
#include <kiln/device/cuda/run/fault.hpp>
#include <kiln/device/cuda/run/launch_fixed.hpp>

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

class index_run {
 public:
  index_run(const index_job& job, dtype type, Cuda device)
      : job_(job),
        type_(type),
        where_(current_stream(device)),
        fault_(fault_word(device, job.move == index_move::gather    ? "gather"
                                  : job.move == index_move::scatter ? "scatter"
                                                                    : "scatter_add")) {}

  void each_by_itself(index_kernel which) {
    const index_walk walk = walk_over(job_, [](int) { return true; });
    const index_walk32 narrow = in_32(walk);
    wide_ = !fits_32(walk);
    void *first = which == index_kernel::gather ? job_.values : job_.table,
         *second = which == index_kernel::gather ? job_.table : job_.values;
    const void* index = job_.index;
    launch(which, walk.elements, {&first, &second, &index, wide_ ? static_cast<const void*>(&walk) : &narrow, &fault_});
  }

  void in_order() {
    const auto moves = [&](int i) { return job_.index_strides[i] != 0 && job_.domain[i] != 1; };
    index_walk walk = walk_over(job_, moves), rest = walk_over(job_, [&](int i) { return !moves(i); });
    walk.by_beside = divisor64(rest.elements);
    wide_ = !fits_32(walk) || !fits_32(rest) || walk.elements * rest.elements >= std::int64_t{1} << 30;
    const index_walk32 narrow = in_32(walk), narrow_rest = in_32(rest);
    const void* const counted = wide_ ? static_cast<const void*>(&walk) : &narrow;
    const std::int64_t last = last_place(walk), n = walk.elements, tiles = (n + radix_tile - 1) / radix_tile;
    // No place has more than one chunk of fewer terms.
    const std::int64_t chunks = n > sum_chunk ? (n + sum_chunk - 1) / sum_chunk * rest.elements : 0;
    // Two rooms for keys, a count for each digit of each tile, one for each digit, and the sums of chunks.
    const auto keys_bytes = static_cast<std::size_t>(n) * 8, counts_bytes = static_cast<std::size_t>(tiles) * 1024,
               sums_bytes = static_cast<std::size_t>(chunks) * size_of(compute_type(type_));
    const ref<storage> memory = new_storage(2 * keys_bytes + counts_bytes + 1024 + sums_bytes, where_);
    char* const start = static_cast<char*>(memory->data);
    void *keys = start, *sorted = start + keys_bytes, *counts = start + 2 * keys_bytes,
         *totals = start + 2 * keys_bytes + counts_bytes, *sums = start + 2 * keys_bytes + counts_bytes + 1024;
    const void* index = job_.index;
    launch(index_kernel::make_keys, n, {&keys, &index, counted, &fault_});
    // Places share their lowest bits where all strides are multiples of a power of two; one more than the last place
    // has to be told from those that no place has.
    const int low = common_zeros(walk),
              bits = static_cast<int>(std::bit_width((static_cast<std::uint64_t>(last) >> low) + 1));
    for (int done = 0; done < bits; done += 8) {
      const std::int32_t shift = 32 + std::min(low + done, 24);
      launch(index_kernel::radix_count, tiles * 256, {&keys, &n, &shift, &counts, &tiles});
      launch(index_kernel::radix_scan, 256 * 256, {&counts, &totals, &tiles});
      launch(index_kernel::radix_place, tiles * 256, {&keys, &sorted, &n, &shift, &counts, &totals, &tiles});
      std::swap(keys, sorted);
    }
    const void* const beside = wide_ ? static_cast<const void*>(&rest) : &narrow_rest;
    launch(index_kernel::sum_chunks, chunks, {&sums, &job_.values, &keys, counted, beside});
    launch(index_kernel::sum_in_order, n * rest.elements, {&job_.table, &job_.values, &keys, &sums, counted, beside});
  }

 private:
  // A key has 32 bits for the place and 32 for the position. Gives the last place.
  std::int64_t last_place(const index_walk& walk) const {
    const std::int64_t last = reach_of(walk, walk.table, (job_.axis_size - 1) * job_.axis_stride);
    constexpr std::int64_t most = (std::int64_t{1} << 32) - 1;
    if (last >= most || walk.elements >= most)
      throw shape_error(message("scatter_add: ", walk.elements, " indices into ", last + 1,
                                " places: sums in a fixed order need less than 2^32 of both; allow any order with "
                                "cuda::set_deterministic(false), or work in parts"));
    return last;
  }
  static int common_zeros(const index_walk& walk) {
    std::uint64_t all = static_cast<std::uint64_t>(walk.axis_size > 1 ? walk.axis_stride : 0);
    for (int d = 0; d < walk.rank; ++d) all |= static_cast<std::uint64_t>(walk.table[d]);
    return std::min(24, std::countr_zero(all));
  }
  template <std::size_t N>
  void launch(index_kernel which, std::int64_t threads, const void* const (&arguments)[N]) {
    const bool sorts =
        which == index_kernel::radix_count || which == index_kernel::radix_scan || which == index_kernel::radix_place;
    const bool typed = !sorts && which != index_kernel::make_keys;
    launch_fixed(
        message("index ", static_cast<int>(which), " ", typed ? name(type_) : "",
                sorts       ? ""
                : job_.wide ? " int64"
                            : " int32",
                sorts || wide_ ? "" : " counted in 32 bits"),
        [&] { return print_index(which, type_, job_.wide, wide_); }, threads, 256, where_, arguments);
  }

  index_job job_;
  dtype type_;
  const stream& where_;
  std::uint32_t* fault_;
  bool wide_ = true;  // walks count in 64 bits
};

}  // namespace detail

/// Whether sums that depend on the order of their terms (scatter_add, and the gradients of gather and index_select) are
/// made in a fixed order, so that each run gives the same bits; on at first. Off, those of other types than half and
/// bfloat16 are made with atomics: faster where few positions share a place.
void set_deterministic(bool on);
bool deterministic();

/// Queues a job over elements of a type. An index that names no place is reported when values are read, as an
/// index_error; a gather gives zero there, the others pass it over. Throws shape_error for more than 2^32 places or
/// indices of a scatter_add in order, device_error.
void run_index(const index_job& job, dtype type, Cuda device);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/run/index_impl.hpp>
#endif
