// SPDX-License-Identifier: BSL-1.0
// A whole matrix product: cut into blocks that fit the caches, packed where that pays, shared among the threads.
// One path for all element types: half and bfloat16 compute in float and round once, integers wrap around. The order in
// which the terms of a sum are added depends on the sizes and the processor alone, never on the threads.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/device/cpu/processor/caches.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm_edge.hpp>
#include <kiln/device/cpu/products/gemm_kernel.hpp>
#include <kiln/device/cpu/products/gemm_pack.hpp>
#include <kiln/device/cpu/products/gemm_problem.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

/// How many steps along the product, rows of A and columns of B are worked on at a time, in whole tiles.
struct gemm_block_sizes {
  std::int64_t depth, rows, columns;
};

/// Blocks for elements of `size` bytes and tiles of `tile_rows` x `tile_columns` of them: a panel of B takes a tenth of
/// the second-level cache, a block of A half of it, and a block of B half of the third level.
constexpr gemm_block_sizes gemm_blocks_for(const cache_sizes& cache, std::int64_t size, std::int64_t tile_rows,
                                           std::int64_t tile_columns) {
  gemm_block_sizes out{};
  out.depth = std::clamp<std::int64_t>(cache.level2 / (10 * tile_columns * size), 128, 800);
  out.rows = std::max<std::int64_t>(cache.level2 / (2 * out.depth * size) / tile_rows, 4) * tile_rows;
  out.columns =
      std::clamp<std::int64_t>(cache.level3 / (2 * out.depth * size) / tile_columns, 16, 4096 / tile_columns) *
      tile_columns;
  return out;
}

template <class S>
class gemm_blocks {
  using T = gemm_compute<S>;
  static constexpr bool same = std::same_as<S, T>;
  static constexpr int rows = gemm_rows, width = gemm_width<T>, lanes = gemm_vector<T>::lanes;
  static constexpr std::int64_t shared_from = std::int64_t{1} << 18;  // elements of B that threads pack together
  static constexpr std::int64_t own_limit = std::int64_t{64} << 20;   // bytes for copies of B, one for each thread
  static constexpr std::int64_t brief = std::int64_t{1} << 26;        // multiplications: about a millisecond
  static constexpr std::int64_t chunk_cycles = 8192;                  // about 3 us: less is not worth another thread
  static constexpr std::int64_t least_tiles = 9;                      // that hide the work on the next panel
  static constexpr std::int64_t finish_size = std::int64_t{1} << 16;  // elements that an epilogue finds in cache

 public:
  [[gnu::cold]] explicit gemm_blocks(const gemm_problem<S>& problem)
      : p(cost(problem.transposed()) < cost(problem) ? problem.transposed() : problem),
        sizes(gemm_blocks_for(caches(), sizeof(T), gemm_rows, width)),
        threads(available_threads()),
        a_along(along_a(p)),
        a_far(p.a_row == 1 && p.m * p.k * std::int64_t{sizeof(S)} > caches().level2 / 2),
        b_far(p.n * p.k * std::int64_t{sizeof(S)} > caches().level2 / 4) {}

  [[gnu::cold]] void run() {
    const std::int64_t depth = std::min(p.k, round_up(divide_up(p.k, divide_up(p.k, sizes.depth)), lanes)),
                       breadth = std::min(p.n, sizes.columns);
    plan(depth, breadth);
    a_panel = panel_size<T>(rows, depth);
    b_panel = panel_size<T>(width, depth);
    // Of rows that are used where they are, only those that are left of a tile are copied.
    a_slots = a_along && !a_far ? 1 : divide_up(high, rows);
    b_slots = divide_up(breadth, width);
    // Panels that are used up in one go take turns: two of them if tiles pack the next one, else one.
    if (!shared && high >= p.m) b_slots = std::min<std::int64_t>(b_slots, packs_next(divide_up(p.m, rows)) ? 2 : 1);
    // Half types are not added up in memory, since they would be rounded there each time.
    partial_row = same || depth == p.k ? 0 : round_up(breadth, width);
    const std::int64_t own_b = shared ? 0 : b_slots;
    own_size = a_slots * a_panel + own_b * b_panel;
    own_stamps = a_slots + own_b;
    const gemm_scratch<T> memory(threads * own_size + (shared ? b_slots * b_panel : 0) + p.m * partial_row);
    const gemm_scratch<std::int64_t> stamp_memory(threads * own_stamps);
    own_memory = memory.data();
    shared_b = own_memory + threads * own_size;
    partial = shared_b + (shared ? b_slots * b_panel : 0);
    stamps = stamp_memory.data();
    std::fill_n(stamps, threads * own_stamps, 0);
    std::int64_t number = 0;
    for (std::int64_t col = 0; col < p.n; col += breadth) {
      for (std::int64_t at = 0; at < p.k; at += depth) {
        const block part{col, std::min(col + breadth, p.n), at, std::min(at + depth, p.k), ++number};
        if (shared) pack_all(part);
        multiply(part);
      }
    }
  }

 private:
  struct block {
    std::int64_t col, col_end, at, at_end, number;
    std::int64_t depth() const { return at_end - at; }
  };

  // Where a thread packs, and what it has packed: by panel, the block that it was packed for.
  struct workspace {
    T *a, *b;
    std::int64_t *a_stamps, *b_stamps;
  };

  // Rows of A that run along the product are used where they are if each is read a few times only. Rows a multiple of
  // 4 KiB apart would share one set of the L1 cache.
  static bool along_a(const gemm_problem<S>& q) {
    return same && q.a_col == 1 && q.n <= 16 * width && q.a_row * static_cast<std::int64_t>(sizeof(T)) % 4096 != 0;
  }
  bool a_in_place() const { return same && p.a_row == 1; }
  bool b_in_place() const { return gemm_reads<T, S> && p.b_col == 1; }

  // Cycles, roughly: padded tiles, packing that is more than a copy, storing across the rows of C.
  static std::int64_t cost(const gemm_problem<S>& q) {
    const std::int64_t tiles = divide_up(q.n, lanes) * round_up(q.m, gemm_row_step);
    const std::int64_t pack_a = along_a(q) || q.a_row == 1 ? 0 : q.m * q.k, pack_b = q.b_col == 1 ? 0 : q.n * q.k;
    return tiles * q.k + (pack_a + pack_b) * 3 / 8 + (q.c_col == 1 ? 0 : q.m * q.n);
  }

  // The tasks into which a block of the result is cut: `high` rows by `wide` columns.
  [[gnu::cold]] void plan(std::int64_t depth, std::int64_t breadth) {
    const std::int64_t blocks = divide_up(p.m, sizes.rows);
    high = std::min(round_up(divide_up(p.m, blocks), rows), sizes.rows / rows * rows);
    wide = round_up(breadth, width);
    // Short sums are bound by writing the result: some rows at a time, from one end to the other.
    const std::int64_t level2 = caches().level2, bytes = sizeof(T);
    if (depth <= 64 && p.m * p.n * bytes > level2 / 2 && depth * breadth * bytes <= level2 / 4)
      high = std::min<std::int64_t>(high, 2 * rows);
    if (threads == 1) return;
    // Tasks that are short are few, as each begins with operands that are not in its core's cache.
    const bool packs_a = !a_along && !a_in_place(), packs_b = !b_in_place();
    const std::int64_t wanted = (p.m * p.n * p.k < brief ? 4 : 8) * std::int64_t{threads};
    const auto tasks = [&] { return divide_up(p.m, high) * divide_up(breadth, wide); };
    // Few tasks, or so many that one thread has a twelfth more than its part.
    const auto too_few = [&] {
      const std::int64_t count = tasks();
      return count < wanted || (count < 2 * wanted && 12 * round_up(count, threads) > 13 * count);
    };
    const auto cut = [&](std::int64_t& side, std::int64_t unit, std::int64_t least) {
      while (too_few() && side > least) side = round_up(divide_up(side, 2), unit);
    };
    // Both sides of a cut pack what they share. Columns of A and rows of B are packed while they are read, at no cost.
    cut(wide, width, packs_a ? 16 * width : width);
    if (!packs_b || tasks() < threads) cut(high, rows, 4 * rows);
    cut(wide, width, width);
    if (!packs_b || tasks() < threads) cut(high, rows, rows);
    balance(breadth);
    // Small operands are packed by each thread for itself when it first needs them: that costs less than waiting for
    // another thread and fetching from its cache (some 55,000 cycles on Zen 4), if what it packs more is less than
    // that. Large ones are packed once, by all threads, unless that is free.
    const std::int64_t size = depth * breadth;
    const std::int64_t most = packs_b ? shared_from / 2 * threads / (threads - 1) : shared_from;
    const bool free = !packs_b && high >= 9 * rows && threads * size * std::int64_t{sizeof(T)} <= own_limit;
    shared = divide_up(p.m, high) > 1 && !free && size > most;
  }

  // The rows that some take the time of: those of tiles that are not full, and a little more where few are left.
  static std::int64_t rows_of_time(std::int64_t some) {
    const std::int64_t left = some % rows;
    return some + (left == 0 ? 0 : is_whole(left) ? rows - left : gemm_row_step / 2);
  }
  // Lower tasks, where a thread with its share of them has less to do than another that way.
  [[gnu::cold]] void balance(std::int64_t breadth) {
    const std::int64_t across = divide_up(breadth, wide);
    // The time of the thread that has most; tasks are numbered along the rows.
    const auto longest = [&](std::int64_t height) {
      const std::int64_t whole = p.m / height, count = divide_up(p.m, height) * across;
      const std::int64_t now = rows_of_time(height), last = rows_of_time(p.m - whole * height);
      std::int64_t most = 0;
      for (std::int64_t i = 1, before = 0; i <= threads; ++i) {
        const std::int64_t end = count * i / threads, full = end / across;
        const std::int64_t done = (std::min(full, whole) * now + (full > whole ? last : 0)) * breadth +
                                  (full < whole ? now : last) * (end % across * wide);
        most = std::max(most, done - std::exchange(before, done));
      }
      return most;
    };
    const std::int64_t least = std::max<std::int64_t>(high / 2, 2 * rows);
    std::int64_t best = longest(high);
    for (std::int64_t h = round_up(high, gemm_row_step) - gemm_row_step;
         h >= least && 25 * threads * best > 26 * p.m * breadth; h -= gemm_row_step) {
      const std::int64_t now = longest(h);
      if (25 * now > 24 * best) continue;
      best = now;
      high = h;
    }
  }

  void pack_a(std::int64_t row, int valid, const block& part, T* to) const {
    pack_panel<rows>(part.depth(), valid, p.a + row * p.a_row + part.at * p.a_col, p.a_row, p.a_col, to);
  }
  // The columns of a whole block of A, side by side in memory: each is read once, from one end to the other, where
  // panel by panel would touch its lines several times, far apart.
  void pack_columns(std::int64_t row, std::int64_t row_end, const block& part, const workspace& space) const {
    if constexpr (gemm_reads<T, S>) {
      const std::int64_t whole = (row_end - row) / rows;
      const S* from = p.a + row + part.at * p.a_col;
      for (std::int64_t q = 0; q < part.depth(); ++q, from += p.a_col) {
        for (std::int64_t i = 0; i < whole; ++i) {
          __builtin_prefetch(from + 4 * p.a_col + i * rows);
          copy_row<rows>(space.a + i * a_panel + q * rows, from + i * rows);
        }
      }
      for (std::int64_t i = 0; i < whole; ++i) space.a_stamps[i] = a_mark(part, row);
    }
  }
  std::int64_t a_mark(const block& part, std::int64_t row) const { return part.number * (p.m + 1) + row + 1; }

  void pack_b(std::int64_t col, const block& part, T* to) const {
    const S* from = p.b + part.at * p.b_row + col * p.b_col;
    const int valid = static_cast<int>(std::min<std::int64_t>(width, part.col_end - col));
    pack_panel<width>(part.depth(), valid, from, p.b_col, p.b_row, to);
  }

  [[gnu::cold]] void pack_all(const block& part) const {
    const std::int64_t grain = 1 + 4 * chunk_cycles / (width * part.depth());
    parallel_for(divide_up(part.col_end - part.col, width), grain, threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) pack_b(part.col + i * width, part, shared_b + i * b_panel);
    });
  }

  [[gnu::cold]] void multiply(const block& part) const {
    const std::int64_t across = divide_up(part.col_end - part.col, wide), tasks = divide_up(p.m, high) * across;
    const std::int64_t grain = 1 + chunk_cycles / (high * wide / lanes * part.depth() + 1);
    parallel_for(tasks, grain, threads, [&](std::int64_t begin, std::int64_t end, int slot) {
      T* const memory = own_memory + slot * own_size;
      std::int64_t* const marks = stamps + slot * own_stamps;
      const workspace space{memory, shared ? shared_b : memory + a_slots * a_panel, marks, marks + a_slots};
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t row = task / across * high, col = part.col + task % across * wide;
        multiply_task(part, space, row, std::min(row + high, p.m), col, std::min(col + wide, part.col_end));
      }
    });
  }

  void multiply_task(const block& part, const workspace& space, std::int64_t row, std::int64_t row_end,
                     std::int64_t col, std::int64_t col_end) const {
    const std::int64_t group = std::max<std::int64_t>(finish_size / (row_end - row) / width, 1) * width;
    if (a_far && space.a_stamps[0] != a_mark(part, row)) pack_columns(row, row_end, part, space);
    std::int64_t done = col;
    for (std::int64_t j = col; j < col_end; j += width) {
      multiply_panel(part, space, row, row_end, j, col_end);
      const std::int64_t end = std::min(j + width, col_end);
      if (part.at_end == p.k && (end - done >= group || end == col_end)) {
        p.finish(row, row_end, done, end);
        done = end;
      }
    }
  }

  std::int64_t b_mark(const block& part, std::int64_t j) const { return part.number * (p.n + 1) + j + 1; }

  // Whether tiles of one panel of B pack the next one too.
  bool packs_next(std::int64_t tiles) const { return tiles >= least_tiles && b_in_place() && b_far; }

  // The next panel of B comes from farther away than A does: the tiles of this one pack it, or bring it closer if it
  // is packed already.
  gemm_later<T, S> after(const block& part, const workspace& space, std::int64_t j, std::int64_t col_end,
                         std::int64_t tiles) const {
    if (j >= col_end || tiles < least_tiles) return {};
    const std::int64_t slot = (j - part.col) / width % b_slots, every = std::min<std::int64_t>(tiles - 1, 8);
    T* const panel = space.b + slot * b_panel;
    if (shared || space.b_stamps[slot] == b_mark(part, j)) {
      // A line for each of its rows comes to all of them in as many tiles as a row has lines.
      constexpr std::int64_t line = 64 / static_cast<int>(sizeof(S));
      return {reinterpret_cast<const S*>(panel), line, std::max<std::int64_t>(every / 2, 1), nullptr};
    }
    if (!packs_next(tiles) || col_end - j < width) return {};
    return {p.b + part.at * p.b_row + j, p.b_row, every, panel};
  }

  // One panel of B times a block of A.
  void multiply_panel(const block& part, const workspace& space, std::int64_t row, std::int64_t row_end, std::int64_t j,
                      std::int64_t col_end) const {
    const int columns = static_cast<int>(std::min<std::int64_t>(width, col_end - j));
    const std::int64_t slot = (j - part.col) / width % b_slots, mark = a_mark(part, row);
    T* const panel = space.b + slot * b_panel;
    gemm_right<T, S> b{panel, width};
    if (!shared && space.b_stamps[slot] != b_mark(part, j)) {
      const S* const source = p.b + part.at * p.b_row + j;
      bool once = false;
      if constexpr (same) once = row_end - row <= rows && b_in_place() && columns == width;
      if (once) {
        if constexpr (same) b.data = source;
        b.step = p.b_row;
      } else {
        space.b_stamps[slot] = b_mark(part, j);
        if (b_in_place() && columns == width && is_whole(row_end - row))
          b = {nullptr, p.b_row, source, panel};
        else
          pack_b(j, part, panel);
      }
    }
    gemm_later<T, S> later = after(part, space, j + width, col_end, divide_up(row_end - row, rows));
    // Rows of the next panel that wait to be packed, or lines of it that wait to be fetched.
    std::int64_t waiting = later.to != nullptr ? part.depth() : b_panel * std::int64_t{sizeof(T)} / 64;
    if (later.from == nullptr) waiting = 0;
    for (std::int64_t i = row; i < row_end; i += rows) {
      const int valid = static_cast<int>(std::min<std::int64_t>(rows, row_end - i));
      gemm_target<T, S> c{p.c + i * p.c_row + j * p.c_col, p.c_row, p.c_col, valid, columns, p.add};
      if constexpr (same) {
        c.add = p.add || part.at > 0;
      } else if (partial_row > 0) {
        c.partial = partial + i * partial_row + (j - part.col);
        c.partial_row = partial_row;
        c.first = part.at == 0;
        c.last = part.at_end == p.k;
      }
      gemm_left<T> a{nullptr, 1, rows};
      if constexpr (same) {
        // Also columns that a single panel meets.
        const bool in_place = a_along || (p.a_row == 1 && p.n <= width && !a_far);
        if (in_place && (valid == rows || !is_whole(valid)))
          a = {p.a + i * p.a_row + part.at * p.a_col, p.a_row, p.a_col};
      }
      if (a.data == nullptr) {
        const std::int64_t at = a_slots == 1 ? 0 : (i - row) / rows;
        T* const left = space.a + at * a_panel;
        a.data = left;
        if (std::exchange(space.a_stamps[at], mark) != mark) {
          if constexpr (same) {
            if (p.a_row == 1 && valid == rows && columns > lanes && b.source == nullptr)
              a = {p.a + i + part.at * p.a_col, 1, p.a_col, left};
          }
          if (a.copy == nullptr) pack_a(i, valid, part, left);
        }
      }
      if (is_whole(valid)) {
        if (a.copy == nullptr) set_later(b, later, waiting, part.depth());
        if (columns > lanes)
          gemm_tile<2>(part.depth(), a, b, c);
        else
          gemm_tile<1>(part.depth(), a, b, c);
      } else {
        edge(part.depth(), a, {b.data, b.step}, c);
      }
      b = {panel, width};
    }
    if (later.to == nullptr || waiting == part.depth()) return;
    pack_panel<width>(waiting, width, later.from, 1, p.b_row, later.to);
    space.b_stamps[(j + width - part.col) / width % b_slots] = b_mark(part, j + width);
  }

  // Gives the next tile its share of what is to be done for later ones, if it has the time for it.
  static void set_later(gemm_right<T, S>& b, gemm_later<T, S>& later, std::int64_t& waiting, std::int64_t depth) {
    if (waiting <= 0 || b.source != nullptr) return;
    b.later = later;
    b.later.every = std::max(later.every, divide_up(depth, waiting));
    const std::int64_t done = divide_up(depth, b.later.every);
    later.from += done * later.step;
    if (later.to != nullptr) later.to += done * width;
    waiting -= done;
  }

  // Whether so many rows are worth a tile with all of them.
  static bool is_whole(std::int64_t valid) { return valid > 2 * gemm_row_step; }

  static void edge(std::int64_t depth, const gemm_left<T>& a, edge_columns<T> b, gemm_target<T, S> c) {
    if (c.columns > lanes && c.rows > edge_rows) return edge_tile<2 * gemm_row_step, 2>(depth, a, b, c);
    if constexpr (2 * gemm_row_step == edge_rows) {
      if (c.columns > lanes) return edge_tile<edge_rows, 2>(depth, a, b, c);
    }
    for (int left = c.columns; left > 0; left -= lanes) {
      c.columns = std::min(left, lanes);
      edge_tile<edge_rows, 1>(depth, a, b, c);
      b.data += lanes;
      c.data += lanes * c.column;
      if (c.partial != nullptr) c.partial += lanes;
    }
  }

  gemm_problem<S> p;
  gemm_block_sizes sizes;
  int threads;
  bool a_along, a_far, b_far, shared = false;  // far: not likely to be in the second-level cache
  std::int64_t high = 0, wide = 0;             // of a task
  std::int64_t a_panel = 0, b_panel = 0, a_slots = 0, b_slots = 0, partial_row = 0, own_size = 0, own_stamps = 0;
  T *own_memory = nullptr, *shared_b = nullptr, *partial = nullptr;
  std::int64_t* stamps = nullptr;
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
