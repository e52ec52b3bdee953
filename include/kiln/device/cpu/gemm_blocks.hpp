// SPDX-License-Identifier: BSL-1.0
// A whole matrix product: cut into blocks that fit the caches, packed where that pays, shared among the threads.
// One path for all element types: half and bfloat16 compute in float and round once, integers wrap around.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>

#include <kiln/core/half.hpp>
#include <kiln/device/cpu/gemm_kernel.hpp>
#include <kiln/device/cpu/isa.hpp>
#include <kiln/device/cpu/memory.hpp>
#include <kiln/device/cpu/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

// Unsigned, so that sums which do not fit wrap around.
template <class S>
using gemm_compute = std::conditional_t<
    std::same_as<S, half> || std::same_as<S, bfloat16>, float,
    std::conditional_t<std::is_integral_v<S>, std::conditional_t<sizeof(S) == 8, std::uint64_t, std::uint32_t>, S>>;

// What to call when a block of the result is final, without its type.
struct gemm_done {
  void (*call)(void*, std::int64_t, std::int64_t, std::int64_t, std::int64_t) = nullptr;
  void* object = nullptr;
};

template <class S>
struct gemm_problem {
  std::int64_t m, n, k;
  const S* a;
  std::int64_t a_row, a_col;
  const S* b;
  std::int64_t b_row, b_col;
  S* c;
  std::int64_t c_row, c_col;
  bool add;
  gemm_done done;
  bool swapped = false;

  gemm_problem transposed() const {
    return {n, m, k, b, b_col, b_row, a, a_col, a_row, c, c_col, c_row, add, done, !swapped};
  }

  void finish(std::int64_t row, std::int64_t row_end, std::int64_t col, std::int64_t col_end) const {
    if (done.call == nullptr) return;
    if (swapped)
      done.call(done.object, col, col_end, row, row_end);
    else
      done.call(done.object, row, row_end, col, col_end);
  }
};

// Memory of the pool for the time of a call.
template <class T>
class gemm_scratch {
 public:
  explicit gemm_scratch(std::int64_t count) : bytes_(static_cast<std::size_t>(count) * sizeof(T)) {
    if (count > 0) data_ = static_cast<T*>(allocate(bytes_));
  }
  gemm_scratch(const gemm_scratch&) = delete;
  gemm_scratch& operator=(const gemm_scratch&) = delete;
  ~gemm_scratch() { deallocate(data_, bytes_); }
  T* data() const { return data_; }

 private:
  std::size_t bytes_;
  T* data_ = nullptr;
};

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return divide_up(a, b) * b;
}

template <class S>
class gemm_blocks {
  using T = gemm_compute<S>;
  static constexpr bool same = std::same_as<S, T>;
  static constexpr int width = gemm_width<T>, lanes = gemm_vector<T>::lanes;
  static constexpr std::int64_t depth_limit = 800;  // a panel of B is then 100 KiB, read from L2
  // Rows and columns packed at a time, whole tiles of either: a narrow one in the middle would have no slot.
  static constexpr std::int64_t whole_tiles = std::lcm(width, 2 * gemm_rows);
  static constexpr std::int64_t side_limit = 4096 / whole_tiles * whole_tiles;
  static constexpr std::int64_t task_rows = 576 / static_cast<int>(sizeof(T));  // times the depth: A's part of L2
  static constexpr std::int64_t task_columns = 4 * width;
  static constexpr std::int64_t own_limit = std::int64_t{512} << 10;  // half of a common L2
  static constexpr std::int64_t chunk_cycles = 8192;                  // about 3 us: less is not worth another thread

 public:
  explicit gemm_blocks(const gemm_problem<S>& problem)
      : p(cost(problem.transposed()) < cost(problem) ? problem.transposed() : problem),
        // Tiles of two thirds waste less where the rows divide by them, and reach the same speed.
        rows(p.m % gemm_rows != 0 && p.m % (2 * gemm_row_step) == 0 && p.m < task_rows ? 2 * gemm_row_step : gemm_rows),
        threads(available_threads()),
        a_direct(direct_a(p)),
        b_direct(direct_b(p)) {}

  void run() {
    // Half types are not added up in memory, since they would be rounded there each time.
    const std::int64_t depth = same ? divide_up(p.k, divide_up(p.k, depth_limit)) : p.k;
    const std::int64_t height = std::min(p.m, side_limit), breadth = std::min(p.n, side_limit);
    a_panel = panel_size<T>(rows, depth);
    b_panel = panel_size<T>(width, depth);
    // Of operands used in place only the last, narrow panel is packed, since a tile reads whole vectors and rows.
    a_slots = a_direct ? (p.m % gemm_row_step != 0 ? 1 : 0) : divide_up(height, rows);
    b_slots = b_direct ? (p.n % width != 0 ? 1 : 0) : divide_up(breadth, width);
    const std::int64_t size = a_slots * a_panel + b_slots * b_panel, bytes = size * std::int64_t{sizeof(T)};
    const std::int64_t copies = threads > 1 && bytes <= own_limit && bytes * threads <= 16 * own_limit ? threads : 1;
    own = copies > 1;
    const std::int64_t slots = own ? copies * (a_slots + b_slots) : 0;
    const gemm_scratch<T> memory(copies * size);
    const gemm_scratch<std::int32_t> stamp_memory(slots);
    packed = memory.data();
    stamps = stamp_memory.data();
    std::fill_n(stamps, slots, 0);
    std::int32_t number = 0;
    for (std::int64_t col = 0; col < p.n; col += breadth) {
      for (std::int64_t at = 0; at < p.k; at += depth) {
        for (std::int64_t row = 0; row < p.m; row += height) {
          const block part{row, std::min(row + height, p.m), col,     std::min(col + breadth, p.n),
                           at,  std::min(at + depth, p.k),   ++number};
          if (!own) pack_all(part, row == 0);
          multiply(part);
        }
      }
    }
  }

 private:
  struct block {
    std::int64_t row, row_end, col, col_end, at, at_end;
    std::int32_t number;
    std::int64_t depth() const { return at_end - at; }
  };

  // An operand used in place costs nothing: rows of A that run along the product, whole rows of B.
  static bool direct_a(const gemm_problem<S>& q) {
    // Rows a multiple of 4 KiB apart would share one set of the L1 cache.
    return same && q.a_col == 1 && q.n <= 8 * width && q.a_row * static_cast<std::int64_t>(sizeof(T)) % 4096 != 0;
  }
  static bool direct_b(const gemm_problem<S>& q) { return same && q.b_col == 1 && q.m <= 8 * gemm_rows; }

  // Cycles, roughly: padded tiles, packing, storing across the rows of C.
  static std::int64_t cost(const gemm_problem<S>& q) {
    const std::int64_t tiles = divide_up(q.n, lanes) * round_up(q.m, gemm_row_step);
    const std::int64_t pack_a = direct_a(q) ? 0 : q.m * q.k, pack_b = direct_b(q) ? 0 : q.n * q.k;
    return tiles * q.k + (pack_a + pack_b) * 3 / 8 + (q.c_col == 1 ? 0 : q.m * q.n);
  }

  static int tile_height(std::int64_t valid) {
    return valid <= gemm_row_step ? gemm_row_step : valid <= 2 * gemm_row_step ? 2 * gemm_row_step : gemm_rows;
  }

  void pack_a(std::int64_t row, const block& part, T* to) const {
    const S* from = p.a + row * p.a_row + part.at * p.a_col;
    const int valid = static_cast<int>(std::min<std::int64_t>(rows, part.row_end - row)), height = tile_height(valid);
    if (height == gemm_rows)
      pack_panel<gemm_rows>(part.depth(), valid, from, p.a_row, p.a_col, to);
    else if (height == gemm_row_step)
      pack_panel<gemm_row_step>(part.depth(), valid, from, p.a_row, p.a_col, to);
    else
      pack_panel<2 * gemm_row_step>(part.depth(), valid, from, p.a_row, p.a_col, to);
  }
  void pack_b(std::int64_t col, const block& part, T* to) const {
    const S* from = p.b + part.at * p.b_row + col * p.b_col;
    const int valid = static_cast<int>(std::min<std::int64_t>(width, part.col_end - col));
    pack_panel<width>(part.depth(), valid, from, p.b_col, p.b_row, to);
  }

  // Where the panel of A from `row` on is, or of B from `col` on.
  std::int64_t a_slot(std::int64_t row, const block& part) const { return a_direct ? 0 : (row - part.row) / rows; }
  std::int64_t b_slot(std::int64_t col, const block& part) const {
    return a_slots + (b_direct ? 0 : (col - part.col) / width);
  }
  T* panel(std::int64_t slot) const {
    const std::int64_t me = own ? thread_index() : 0, b = std::max<std::int64_t>(slot - a_slots, 0);
    return packed + me * (a_slots * a_panel + b_slots * b_panel) + (slot - b) * a_panel + b * b_panel;
  }

  // Small operands are packed by each thread for itself when it first needs them: that costs less than waiting for
  // another thread and fetching from its cache. Large ones are packed once, by all threads.
  void pack_own(const block& part, std::int64_t row, std::int64_t row_end, std::int64_t col,
                std::int64_t col_end) const {
    std::int32_t* const mine = stamps + thread_index() * (a_slots + b_slots);
    const auto first_use = [&](std::int64_t slot) { return std::exchange(mine[slot], part.number) != part.number; };
    if (a_direct) row = (row_end - row) % rows % gemm_row_step == 0 ? row_end : row_end - (row_end - row) % rows;
    for (std::int64_t i = row; i < row_end; i += rows) {
      if (const std::int64_t slot = a_slot(i, part); first_use(slot)) pack_a(i, part, panel(slot));
    }
    if (b_direct) col = col_end - (col_end - col) % width;
    for (std::int64_t j = col; j < col_end; j += width) {
      if (const std::int64_t slot = b_slot(j, part); first_use(slot)) pack_b(j, part, panel(slot));
    }
  }

  void pack_all(const block& part, bool with_b) const {
    const std::int64_t a_first = a_direct ? part.row_end - (part.row_end - part.row) % rows : part.row;
    const std::int64_t b_first = b_direct ? part.col_end - (part.col_end - part.col) % width : part.col;
    const std::int64_t a_count = a_slots == 0 ? 0 : divide_up(part.row_end - a_first, rows);
    const std::int64_t b_count = with_b ? divide_up(part.col_end - b_first, width) : 0;
    const std::int64_t grain = 1 + 4 * chunk_cycles / (width * part.depth());
    parallel_for(a_count + b_count, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (const std::int64_t col = b_first + i * width; i < b_count) {
          pack_b(col, part, panel(b_slot(col, part)));
        } else {
          const std::int64_t row = a_first + (i - b_count) * rows;
          pack_a(row, part, panel(a_slot(row, part)));
        }
      }
    });
  }

  void multiply(const block& part) const {
    const std::int64_t m = part.row_end - part.row, n = part.col_end - part.col;
    std::int64_t high = std::min(round_up(m, rows), task_rows / rows * rows),
                 wide = std::min(round_up(n, width), task_columns);
    // Enough tasks to go round, in the shape that packs the registers: halve the longer side.
    if (threads > 1) {
      while (divide_up(m, high) * divide_up(n, wide) < 16 * threads && (high > rows || wide > width)) {
        if (wide > width && (wide >= high || high <= rows))
          wide = round_up(wide / 2, width);
        else
          high = round_up(high / 2, rows);
      }
    }
    const std::int64_t across = divide_up(n, wide), tasks = divide_up(m, high) * across;
    const std::int64_t grain = 1 + chunk_cycles / (high * wide / lanes * part.depth() + 1);
    // The threads that `run` made panels for, whatever set_num_threads says meanwhile: thread_index() is below that.
    parallel_for(tasks, grain, threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t row = part.row + task / across * high, row_end = std::min(row + high, part.row_end);
        const std::int64_t col = part.col + task % across * wide, col_end = std::min(col + wide, part.col_end);
        if (own) pack_own(part, row, row_end, col, col_end);
        multiply_task(part, row, row_end, col, col_end);
        if (part.at_end == p.k) p.finish(row, row_end, col, col_end);
      }
    });
  }

  void multiply_task(const block& part, std::int64_t row, std::int64_t row_end, std::int64_t col,
                     std::int64_t col_end) const {
    for (std::int64_t j = col; j < col_end; j += width) {
      const T* b = nullptr;
      std::int64_t b_row = width;
      const int columns = static_cast<int>(std::min<std::int64_t>(width, col_end - j));
      if constexpr (same) {
        if (b_direct && columns == width) {
          b = p.b + part.at * p.b_row + j;
          b_row = p.b_row;
        }
      }
      if (b == nullptr) b = panel(b_slot(j, part));
      for (std::int64_t i = row; i < row_end; i += rows) {
        const int valid = static_cast<int>(std::min<std::int64_t>(rows, row_end - i));
        const gemm_target<S> c{p.c + i * p.c_row + j * p.c_col, p.c_row, p.c_col, valid, columns, p.add || part.at > 0};
        if constexpr (same) {
          if (a_direct && valid % gemm_row_step == 0) {
            tile<false>(part.depth(), p.a + i * p.a_row + part.at, p.a_row, b, b_row, c);
            continue;
          }
        }
        tile<true>(part.depth(), panel(a_slot(i, part)), 0, b, b_row, c);
      }
    }
  }

  template <bool Packed>
  static void tile(std::int64_t depth, const T* a, std::int64_t a_row, const T* b, std::int64_t b_row,
                   const gemm_target<S>& c) {
    if (c.columns > lanes)
      sized_tile<2, Packed>(depth, a, a_row, b, b_row, c);
    else
      sized_tile<1, Packed>(depth, a, a_row, b, b_row, c);
  }
  template <int Vectors, bool Packed>
  static void sized_tile(std::int64_t depth, const T* a, std::int64_t a_row, const T* b, std::int64_t b_row,
                         const gemm_target<S>& c) {
    const int height = tile_height(c.rows);
    if (height == gemm_rows)
      gemm_tile<gemm_rows, Vectors, Packed>(depth, a, a_row, b, b_row, c);
    else if (height == gemm_row_step)
      gemm_tile<gemm_row_step, Vectors, Packed>(depth, a, a_row, b, b_row, c);
    else
      gemm_tile<2 * gemm_row_step, Vectors, Packed>(depth, a, a_row, b, b_row, c);
  }

  gemm_problem<S> p;
  int rows, threads;
  bool a_direct, b_direct;
  bool own = false;  // every thread packs for itself
  std::int64_t a_panel = 0, b_panel = 0, a_slots = 0, b_slots = 0;
  T* packed = nullptr;
  std::int32_t* stamps = nullptr;  // of each panel of each thread: the block it was packed for
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
