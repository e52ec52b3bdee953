// SPDX-License-Identifier: BSL-1.0
// Products too small or too narrow to be worth packing: read where they are, with vectors that reach over no edge.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm_direct.hpp>
#include <kiln/device/cpu/products/gemm_dots.hpp>
#include <kiln/device/cpu/products/gemm_edge.hpp>
#include <kiln/device/cpu/products/gemm_problem.hpp>
#include <kiln/device/cpu/products/gemm_row.hpp>
#include <kiln/device/cpu/products/gemm_vector.hpp>
#include <kiln/device/cpu/simd/partial.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

// Rows of C from `row` to `row_end` by columns from `begin` to `end`: vectors that don't fill a tile one by one.
template <int Rows, int Vectors, class T>
void small_rows(const gemm_problem<T>& p, std::int64_t row, std::int64_t row_end, std::int64_t begin,
                std::int64_t end) {
  constexpr int N = gemm_vector<T>::lanes, wide = Vectors * N;
  if (row == row_end) return;
  const gemm_left<T> a{p.a + row * p.a_row, p.a_row, p.a_col};
  edge_columns<T> b{p.b + begin, p.b_row, 0, p.n >= N};
  gemm_target<T, T> c{p.c + row * p.c_row + begin * p.c_col, p.c_row, p.c_col, 0, wide, p.add};
  c.rows = static_cast<int>(row_end - row);
  for (std::int64_t left = end - begin; left > 0;) {
    const int width = left > wide - N ? wide : N;
    c.columns = static_cast<int>(std::min<std::int64_t>(width, left));
    b.missing = width - c.columns;
    if (width == wide)
      edge_tile<Rows, Vectors>(p.k, a, b, c);
    else
      edge_tile<edge_rows, 1>(p.k, a, b, c);
    left -= width;
    b.data += width;
    c.data += width * p.c_col;
  }
}

// Whether tiles of products in place do for all of it: parts of vectors are masked there, so that none needs another
// tile, and a call is for all columns.
template <class S>
bool is_in_place(const gemm_problem<S>& p) {
  return hardware::Masked<vector_bytes> && p.b_col == 1 && p.c_col == 1;
}

// Columns `begin` to `end` of C: tiles of all rows up to `whole`, of four up to `fours`, and of two: one tile for what
// is left of a short sum.
template <class T>
void small_columns(const gemm_problem<T>& p, std::int64_t begin, std::int64_t end) {
  if constexpr (hardware::Masked<vector_bytes>) {
    if (is_in_place(p)) return direct_part(p, p.c, 0, p.m, begin, end);
  }
  constexpr int high = 2 * gemm_row_step;
  const std::int64_t rest = p.m % high, twos = rest % edge_rows <= 2 && (rest <= 2 || p.k >= 32) ? rest % edge_rows : 0;
  const std::int64_t fours = p.m - twos, whole = high > edge_rows && rest - twos <= edge_rows ? p.m - rest : fours;
  small_rows<high, 2>(p, 0, whole, begin, end);
  if constexpr (high > edge_rows) small_rows<edge_rows, 4>(p, whole, fours, begin, end);
  small_rows<2, 4>(p, fours, p.m, begin, end);
}

// Columns of C are shared among the threads, in whole tiles, and finished while they are in cache.
template <class T>
void gemm_small_tiles(const gemm_problem<T>& p) {
  constexpr std::int64_t wide = 4 * gemm_vector<T>::lanes;
  constexpr std::int64_t least = std::int64_t{1} << 17;  // multiplications: less is not worth another thread
  const std::int64_t strip = p.n <= wide ? wide : wide * (1 + least / (wide * p.m * std::max<std::int64_t>(p.k, 1)));
  parallel_for(p.n, strip, [&](std::int64_t begin, std::int64_t stop) {
    for (std::int64_t end = begin; begin < stop; begin = end) {
      end = std::min(begin + strip, stop);
      small_columns(p, begin, end);
      p.finish(0, p.m, begin, end);
    }
  });
}

inline constexpr std::int64_t small_copy = 1024;  // elements of B, whose rows are made contiguous if they are not

template <class T>
void gemm_small_copied(gemm_problem<T> p) {
  T copy[std::size_t{small_copy}];
  p.move_b(copy, p.n, 1);
  gemm_small_tiles(p);
}

template <class S>
void gemm_small_words(const gemm_problem<S>& p) {
  using T = gemm_compute<S>;
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      T sum{};
      for (std::int64_t q = 0; q < p.k; ++q)
        sum += static_cast<T>(p.a[i * p.a_row + q * p.a_col]) * static_cast<T>(p.b[q * p.b_row + j * p.b_col]);
      S& to = p.c[i * p.c_row + j * p.c_col];
      to = static_cast<S>(p.add ? static_cast<T>(static_cast<T>(to) + sum) : sum);
    }
  p.finish(0, p.m, 0, p.n);
}

// Whether one tile has all rows, so that B, where it is, is read once; and by whole vectors if others are slow.
template <class S>
bool is_one_tile_high(const gemm_problem<S>& p) {
  return p.b_col == 1 && p.m <= 2 * gemm_row_step && (gemm_masked<S> || p.n >= gemm_vector<S>::lanes);
}

// Whether the rows of B had better be made contiguous, however many rows A has, so that C is written along its rows.
template <class S>
bool has_small_copy(const gemm_problem<S>& p) {
  if (p.b_col == 1 || p.c_col != 1 || p.k * p.n > small_copy) return false;
  return p.a_row == 1 ? p.m >= 4 && p.n >= 6 && p.k <= 24 : p.k < gemm_vector<S>::lanes;
}

/// Whether a product had better be done by gemm_small.
template <class S>
bool gemm_is_small(const gemm_problem<S>& p) {
  const std::int64_t work = p.m * p.n * p.k;
  if (work <= 256) return true;
  if constexpr (std::is_floating_point_v<S>) {
    if (p.m == 1 || p.n == 1) return false;
    // Products in place have the same tiles, and ask what threads there are first.
    const bool large = is_in_place(p) ? work > 16384 : work > 4096 || p.m * p.n >= 512;
    if (large && (gemm_is_direct(p) || gemm_is_direct(p.transposed()))) return false;
    // Tiles of vectors: as fast as others while both operands are in the first-level cache.
    const bool high = is_one_tile_high(p) || is_one_tile_high(p.transposed());
    if (!high && p.b_col == 1 && p.c_col == 1) return work <= 65536 && p.k * p.n * std::int64_t{sizeof(S)} <= 16384;
    if (high) return true;
    return has_small_copy(p) || ((p.a_row == 1 || p.b_col == 1) && work <= 4096);
  }
  return false;
}

// Whether a product is done term by term in less time than it takes to choose vectors for it.
template <class S>
bool gemm_is_tiny(const gemm_problem<S>& p) {
  return p.m * p.n <= (is_in_place(p) ? 4 : 9) && p.m * p.n * p.k <= 27;
}

// Whether it is a row of few columns, whose sums wait for the one before unless there are several in turn.
template <class S>
bool is_short_row(const gemm_problem<S>& p) {
  return p.m == 1 && p.k >= 16 && p.a_col == 1 && p.b_col == 1;
}

/// The product of a problem that gemm_is_small.
template <class S>
void gemm_small(const gemm_problem<S>& p) {
  // (Operands without elements may be null pointers.)
  if constexpr (std::is_floating_point_v<S>) {
    if (p.k == 0 || gemm_is_tiny(p)) return gemm_small_words(p);
    if (is_short_row(p)) return gemm_row(p);
    if (p.n == 1 && is_short_row(p.transposed())) return gemm_row(p.transposed());
    const bool rows = p.b_col == 1, columns = p.a_row == 1;
    const bool dots = p.k >= (gemm_masked<S> ? 2 : 4) && gemm_has_dots(p);
    if (dots && p.m == 1) return gemm_dots(p);
    if (dots && p.n == 1) return gemm_dots(p.transposed());
    const bool narrow = p.n < p.m && is_one_tile_high(p.transposed());
    if (columns && has_small_copy(p)) return gemm_small_copied(p);
    if (columns && (!rows || p.c_col != 1 || narrow)) return gemm_small_tiles(p.transposed());
    if (rows) return gemm_small_tiles(p);
    constexpr std::int64_t lanes = gemm_vector<S>::lanes;
    if (gemm_has_dots(p)) {
      if (p.k >= lanes) return gemm_dots(p);
      // Tiles would have parts of vectors only, which is slow where loads cannot be masked.
      if (!gemm_masked<S> && std::min(p.m, p.n) < lanes) return gemm_dots(p.n < p.m ? p.transposed() : p);
    }
    if (p.k * p.n <= small_copy) return gemm_small_copied(p);
  }
  gemm_small_words(p);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
