// SPDX-License-Identifier: BSL-1.0
// How a domain is cut into parts that are summed separately. The cut depends on sizes only, never on threads: parts
// are done by whoever comes, and joined in their order, so a sum has the same bits for any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include <kiln/core/dims.hpp>
#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Most parts of one sum: enough to go round on many cores, few enough to be joined in no time.
inline constexpr std::int64_t most_parts = 64;

/// How a driver walks over a domain: positions of the outer axes, and for each the elements of the inner ones.
struct part_grid {
  dims domain;
  int split = 0;       ///< the axes before this one are the outer ones
  int tile_axis = -1;  ///< an outer axis whose positions are taken `tile_rows` at a time
  std::int64_t tile_rows = 1;
  std::int64_t step = 1;  ///< the inner elements are cut at multiples of this only

  std::int64_t positions(int axis) const {
    return axis == tile_axis ? (domain[axis] + tile_rows - 1) / tile_rows : domain[axis];
  }
  std::int64_t outer() const {
    std::int64_t n = 1;
    for (int i = 0; i < split; ++i) n *= positions(i);
    return n;
  }
  std::int64_t inner() const {
    std::int64_t n = 1;
    for (int i = split; i < domain.rank(); ++i) n *= domain[i];
    return n;
  }
};

/// A part: outer positions [outer, outer_end), and for each the inner elements [inner, inner_end).
struct sum_part {
  std::int64_t outer = 0, outer_end = 1, inner = 0, inner_end = 1;
};

/// Offsets from `first` on, `size` of them.
struct offset_range {
  std::int64_t first = 0, size = 1;
};

namespace detail {

/// Calls f(axis, first, last) for axes [axis, end_axis) with positions that the flat positions [begin, end) reach, and
/// perhaps a few more: all of an axis behind one that changes.
template <class F>
[[gnu::cold]] inline void reached(const part_grid& grid, int axis, int end_axis, std::int64_t begin, std::int64_t end,
                                  F f) {
  dims from = dims::filled(max_rank, 0), to = from;
  for (std::int64_t a = begin, b = end - 1, i = end_axis - 1; i >= axis; --i) {
    const int k = static_cast<int>(i);
    const std::int64_t n = k < grid.split ? grid.positions(k) : grid.domain[k];
    from[k] = a % n, to[k] = b % n;
    a /= n, b /= n;
  }
  bool changed = false;
  for (int i = axis; i < end_axis; ++i) {
    const std::int64_t n = grid.domain[i];
    std::int64_t first = changed ? 0 : from[i], last = changed ? n - 1 : to[i];
    changed |= from[i] != to[i];
    if (i == grid.tile_axis && last != n - 1) last = std::min((last + 1) * grid.tile_rows, n) - 1;
    if (i == grid.tile_axis) first *= grid.tile_rows;
    f(i, first, last);
  }
}

}  // namespace detail

/// The offsets that a part reaches in something with these strides (none negative).
[[gnu::cold]] inline offset_range reach_of(const part_grid& grid, const sum_part& part, const dims& strides) {
  std::int64_t first = 0, last = 0;
  auto widen = [&](int axis, std::int64_t from, std::int64_t to) {
    first += from * strides[axis];
    last += to * strides[axis];
  };
  detail::reached(grid, 0, grid.split, part.outer, part.outer_end, widen);
  detail::reached(grid, grid.split, grid.domain.rank(), part.inner, part.inner_end, widen);
  return {first, last - first + 1};
}

/// The outer positions in `rows` runs of nearly equal length, the inner elements in `columns`; numbered row by row.
struct part_cut {
  std::int64_t rows = 1, columns = 1;

  std::int64_t parts() const { return rows * columns; }
  [[gnu::noinline]] sum_part part(const part_grid& grid, std::int64_t i) const {
    const std::int64_t outer = grid.outer(), inner = grid.inner(), steps = (inner + grid.step - 1) / grid.step;
    const std::int64_t row = i / columns, column = i % columns;
    return {outer * row / rows, outer * (row + 1) / rows, steps * column / columns * grid.step,
            std::min(steps * (column + 1) / columns * grid.step, inner)};
  }
};

/// As many parts as work is worth (`wanted`), as long as `room(cut)`, the numbers that their sums take, is at most
/// `allowed`: runs of outer positions first, then runs of inner elements.
template <class Room>
[[gnu::cold]] inline part_cut cut_into_parts(const part_grid& grid, std::int64_t wanted, std::int64_t allowed,
                                             Room workspace) {
  wanted = std::clamp<std::int64_t>(wanted, 1, most_parts);
  part_cut cut{std::min(wanted, grid.outer()), 1};
  while (cut.rows > 1 && workspace(cut) > allowed) cut.rows = (cut.rows + 1) / 2 < cut.rows ? (cut.rows + 1) / 2 : 1;
  // Reading pieces of rows is slow: 1.3 times as slow for halves of 1024 floats. Short ones only if there is no other
  // way.
  const std::int64_t piece = std::max<std::int64_t>(cut.rows >= 8 ? 8192 : 1024, grid.step);
  cut.columns = std::clamp<std::int64_t>(grid.inner() / piece, 1, wanted / cut.rows);
  while (cut.columns > 1 && workspace(cut) > allowed) cut.columns = cut.columns / 2;
  return cut;
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
