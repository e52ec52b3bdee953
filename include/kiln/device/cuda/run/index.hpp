// SPDX-License-Identifier: BSL-1.0
// gather, scatter and scatter_add on a GPU. Sums are made in the order of the positions unless that is switched off:
// the positions are sorted by the place that they go to, which costs a few launches and eight bytes per index.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <string>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/print/print_index.hpp>
#include <kiln/device/cuda/run/fault.hpp>
#include <kiln/device/cuda/run/launch_fixed.hpp>

namespace kiln::cuda {

namespace detail {

inline std::atomic<bool> sums_in_order = true;

/// The index_walk of kernels/index.cuh.
struct index_walk {
  std::int64_t sizes[8], table[8], values[8], index[8];
  std::int64_t elements = 1, axis_stride = 0, axis_size = 0;
  std::int32_t rank = 0;
};
static_assert(max_rank == 8);

// The axes of a job for which `belongs` is true.
template <class Belongs>
index_walk walk_over(const index_job& job, Belongs belongs) {
  index_walk w{};
  w.elements = 1;
  w.axis_stride = job.axis_stride;
  w.axis_size = job.axis_size;
  for (int i = 0; i < job.domain.rank(); ++i) {
    if (!belongs(i)) continue;
    w.sizes[w.rank] = job.domain[i];
    w.table[w.rank] = job.table_strides[i];
    w.values[w.rank] = job.value_strides[i];
    w.index[w.rank] = job.index_strides[i];
    w.elements *= job.domain[i];
    ++w.rank;
  }
  return w;
}

class index_run {
 public:
  index_run(const index_job& job, dtype type, Cuda device)
      : job_(job), type_(type), where_(current_stream(device)), fault_(fault_word(device)) {}

  void each_by_itself(index_kernel which) {
    index_walk walk = walk_over(job_, [](int) { return true; });
    void *first = which == index_kernel::gather ? job_.values : job_.table,
         *second = which == index_kernel::gather ? job_.table : job_.values;
    const void* index = job_.index;
    launch(which, walk.elements, {&first, &second, &index, &walk, &fault_});
  }

  void in_order() {
    const auto moves = [&](int i) { return job_.index_strides[i] != 0 && job_.domain[i] != 1; };
    index_walk walk = walk_over(job_, moves), rest = walk_over(job_, [&](int i) { return !moves(i); });
    check_keys(walk);
    std::int64_t room = static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(walk.elements, 2 * sort_threads))));
    const ref<storage> memory = new_storage(static_cast<std::size_t>(room) * 8, where_);
    void* keys = memory->data;
    const void* index = job_.index;
    launch(index_kernel::make_keys, room, {&keys, &room, &index, &walk, &fault_});
    std::int64_t first = 2, tile = 2 * sort_threads;
    launch(index_kernel::sort_tiles, room / 2, {&keys, &room, &first, &tile});
    for (std::int64_t run = 2 * tile; run <= room; run *= 2) {
      for (std::int64_t way = run / 2; way >= tile; way /= 2)
        launch(index_kernel::sort_step, room / 2, {&keys, &room, &run, &way});
      launch(index_kernel::sort_tiles, room / 2, {&keys, &room, &run, &run});
    }
    launch(index_kernel::sum_in_order, walk.elements * rest.elements, {&job_.table, &job_.values, &keys, &walk, &rest});
  }

 private:
  // A key has 32 bits for the place and 32 for the position.
  void check_keys(const index_walk& walk) const {
    std::int64_t last = (job_.axis_size - 1) * job_.axis_stride;
    for (int i = 0; i < walk.rank; ++i) last += (walk.sizes[i] - 1) * walk.table[i];
    constexpr std::int64_t most = std::int64_t{1} << 32;
    if (last >= most || walk.elements >= most)
      throw shape_error(message("scatter_add: ", walk.elements, " indices into ", last + 1,
                                " places: sums in a fixed order need less than 2^32 of both; allow any order with "
                                "cuda::set_deterministic(false), or work in parts"));
  }
  template <std::size_t N>
  void launch(index_kernel which, std::int64_t threads, const void* const (&arguments)[N]) {
    const bool typed =
        which != index_kernel::make_keys && which != index_kernel::sort_step && which != index_kernel::sort_tiles;
    launch_fixed(
        message("index ", static_cast<int>(which), " ", typed ? name(type_) : "", job_.wide ? " int64" : " int32"),
        [&] { return print_index(which, type_, job_.wide); }, threads,
        which == index_kernel::sort_tiles ? sort_threads : 256, where_, arguments);
  }

  index_job job_;
  dtype type_;
  const stream& where_;
  std::uint32_t* fault_;
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
