// SPDX-License-Identifier: BSL-1.0
// The definitions of index.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/run/fault.hpp>
#include <kiln/device/cuda/run/index.hpp>
#include <kiln/device/cuda/run/launch_fixed.hpp>

namespace kiln::cuda {

namespace detail {

// Whether rows are whole vectors of `step` elements in both operands. `rest` walks over a row.
KILN_INLINE bool rows_are_vectors(const index_job& job, const index_walk& walk, const index_walk& rest,
                                  std::int64_t unit, int step) {
  const auto divides = [step](std::int64_t n) { return n % step == 0; };
  const int last = rest.rank - 1;
  if (last < 0 || rest.table[last] != 1 || rest.values[last] != 1 || !divides(rest.sizes[last])) return false;
  if (reinterpret_cast<std::uintptr_t>(job.table) % 16 != 0 || reinterpret_cast<std::uintptr_t>(job.values) % 16 != 0)
    return false;
  return divides(unit) && std::all_of(walk.values, walk.values + walk.rank, divides) &&
         std::all_of(rest.table, rest.table + last, divides) && std::all_of(rest.values, rest.values + last, divides);
}

KILN_INLINE sorted_sums::sorted_sums(const index_job& job, dtype type, const device_properties& device) {
  const auto moves = [&](int i) { return job.index_strides[i] != 0 && job.domain[i] != 1; };
  walk = walk_over(job, moves), rest = walk_over(job, [&](int i) { return !moves(i); });
  // Places are counted in what divides all ways between them: in rows, for an index that names rows.
  unit = walk.axis_size > 1 ? walk.axis_stride : 0;
  for (int d = 0; d < walk.rank; ++d) unit = std::gcd(unit, walk.table[d]);
  if (unit == 0) unit = 16;  // one place
  walk.axis_stride /= unit;
  for (int d = 0; d < walk.rank; ++d) walk.table[d] /= unit;
  const std::int64_t n = walk.elements;
  places = reach_of(walk, walk.table, (walk.axis_size - 1) * walk.axis_stride) + 1;
  // An entry has 32 bits for the place, which may be one more than the last, and a tile's word 30 for a count.
  if (places >= (std::int64_t{1} << 32) - 1 || n >= std::int64_t{1} << 30)
    throw shape_error(message("scatter_add: ", n, " indices into ", places,
                              " places: sums in a fixed order need less than 2^30 indices and 2^32 - 1 places; allow "
                              "any order with cuda::set_deterministic(false), or work in parts"));
  if (const int widest = widest_step(type); widest > 1 && rows_are_vectors(job, walk, rest, unit, widest)) {
    step = widest;
    const int last = rest.rank - 1;
    rest.sizes[last] /= step;
    rest.by[last] = divisor64(rest.sizes[last]);
    rest.table[last] = rest.values[last] = step;
    rest.elements /= step;
  }
  walk.by_beside = divisor64(rest.elements);
  wide = !fits_32(walk) || !fits_32(rest) || n * rest.elements >= std::int64_t{1} << 30;
  const auto whole = static_cast<std::int32_t>(std::bit_width(static_cast<std::uint64_t>(places)));
  passes = (whole + most_digit_bits - 1) / most_digit_bits;
  bits = (whole + passes - 1) / passes;
  tiles = (n + sort_tile - 1) / sort_tile;
  counting =
      tiles == 1 ? 0 : static_cast<std::int32_t>(std::min<std::int64_t>(tiles, std::min(64, device.multiprocessors)));
  // As many entries for each thread as leave all threads of the device something, and neighbours in memory to lanes.
  const std::int64_t threads = std::int64_t{device.multiprocessors} * device.threads_per_multiprocessor;
  while (window_bits < 5 && rest.elements >> window_bits > 1 && (n >> (window_bits + 1)) * rest.elements >= threads)
    ++window_bits;

  const auto room = [this](std::int64_t of) {
    return std::exchange(bytes, bytes + (static_cast<std::size_t>(of) + 255) / 256 * 256);
  };
  // No place has more than one chunk of fewer terms.
  const std::int64_t chunks = n > sum_chunk ? (n + sum_chunk - 1) / sum_chunk * rest.elements : 0;
  arrived_words = chunks;
  zeroed_words = chunks + (tiles == 1 ? 0 : passes * (1 + (tiles << bits)));
  for (std::size_t& each : entries) each = room(8 * n);
  counts = room(std::int64_t{4} * counting * passes << bits);
  zeroed = room(4 * zeroed_words);
  sums = room(2 * chunks * step * static_cast<std::int64_t>(size_of(compute_type(type))));
}

KILN_INLINE index_run::index_run(const index_job& job, dtype type, Cuda device)
    : job_(job),
      type_(type),
      where_(current_stream(device)),
      fault_(fault_word(device, job.move == index_move::gather    ? "gather"
                                : job.move == index_move::scatter ? "scatter"
                                                                  : "scatter_add")) {}

template <std::size_t N>
void index_run::launch(index_kernel which, std::int64_t items, const void* const (&arguments)[N], int threads,
                       int step) {
  launch_fixed(
      message("index ", static_cast<int>(which), " ", name(type_), job_.wide ? " int64" : " int32",
              wide_ ? "" : " counted in 32 bits", " step ", step),
      [&] {
        return print_index(which, {type_, job_.wide, wide_, step});
      },
      items, threads, where_, arguments);
}

KILN_INLINE void index_run::each_by_itself(index_kernel which) {
  const index_walk walk = walk_over(job_, [](int) { return true; });
  const index_walk32 narrow = in_32(walk);
  wide_ = !fits_32(walk);
  void *first = which == index_kernel::gather ? job_.values : job_.table,
       *second = which == index_kernel::gather ? job_.table : job_.values;
  const void* index = job_.index;
  launch(which, walk.elements, {&first, &second, &index, wide_ ? static_cast<const void*>(&walk) : &narrow, &fault_});
}

KILN_INLINE void index_run::in_order() {
  const sorted_sums how(job_, type_, properties(where_.device()));
  wide_ = how.wide;
  const index_walk32 narrow = in_32(how.walk), narrow_rest = in_32(how.rest);
  const void *const walk = wide_ ? static_cast<const void*>(&how.walk) : &narrow, *const rest =
                                                                                      wide_ ? static_cast<const void*>(
                                                                                                  &how.rest)
                                                                                            : &narrow_rest;
  const ref<storage> memory = new_storage(how.bytes, where_);
  const auto at = [&](std::size_t bytes) { return static_cast<void*>(static_cast<char*>(memory->data) + bytes); };
  void *const first = at(how.entries[0]), *const second = at(how.entries[1]), *const counts = at(how.counts),
              *const arrived = at(how.zeroed), *const sums = at(how.sums);
  void* const sorted = how.passes % 2 != 0 ? first : second;
  const void* const index = job_.index;
  const std::int64_t n = how.walk.elements;
  const auto places = static_cast<std::uint32_t>(how.places);
  if (how.tiles == 1) {
    // One block sorts. Where more is to be set to 0 than it does meanwhile, others do that.
    const std::int64_t beside = std::min<std::int64_t>(how.zeroed_words / 4096, 128);
    launch(index_kernel::sort_tile, (1 + beside) * sort_threads,
           {&first, &second, &index, walk, &places, &how.bits, &how.passes, &arrived, &how.zeroed_words, &fault_},
           sort_threads);
  } else {
    launch(index_kernel::count_digits, std::int64_t{how.counting} * count_threads,
           {&counts, &index, walk, &places, &how.bits, &how.passes, &arrived, &how.zeroed_words, &fault_},
           count_threads);
    for (std::int32_t pass = 0; pass < how.passes; ++pass) {
      const std::int64_t digits = std::int64_t{1} << how.bits;
      const std::uint32_t* const counted = static_cast<std::uint32_t*>(counts) + pass * how.counting * digits;
      std::uint32_t* const next_tile =
          static_cast<std::uint32_t*>(arrived) + how.arrived_words + pass * (1 + how.tiles * digits);
      std::uint32_t* const states = next_tile + 1;
      void* const to = pass % 2 != 0 ? second : first;
      const void* const from = pass % 2 != 0 ? first : second;
      const std::int32_t shift = pass * how.bits;
      if (pass == 0)
        launch(index_kernel::first_pass, how.tiles * sort_threads,
               {&to, &index, walk, &places, &how.bits, &counted, &how.counting, &states, &next_tile}, sort_threads);
      else
        launch(index_kernel::next_pass, how.tiles * sort_threads,
               {&to, &from, &n, &shift, &how.bits, &counted, &how.counting, &states, &next_tile}, sort_threads);
    }
  }
  const std::int64_t windows = ((n - 1) >> how.window_bits) + 1;
  launch(index_kernel::sum_in_order, windows * how.rest.elements,
         {&job_.table, &job_.values, &sorted, &sums, &arrived, walk, rest, &how.unit, &places, &how.window_bits}, 256,
         how.step);
}

}  // namespace detail

KILN_INLINE void set_deterministic(bool on) {
  detail::sums_in_order = on;
}

KILN_INLINE bool deterministic() {
  return detail::sums_in_order;
}

KILN_INLINE void run_index(const index_job& job, dtype type, Cuda device) {
  if (count(job.domain) == 0) return;
  detail::index_run run(job, type, device);
  switch (job.move) {
    case index_move::gather:
      return run.each_by_itself(index_kernel::gather);
    case index_move::scatter:
      return run.each_by_itself(index_kernel::scatter);
    case index_move::scatter_add:
      break;
  }
  // No instruction exchanges a single byte, and atomics of half types would round at each step.
  const bool atomic = !detail::sums_in_order && size_of(type) > 1 && compute_type(type) == type;
  if (atomic)
    run.each_by_itself(index_kernel::scatter_add);
  else
    run.in_order();
}

}  // namespace kiln::cuda
