// SPDX-License-Identifier: BSL-1.0
// Products too small or too narrow to be worth packing: read where they are, with vectors that reach over no edge.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm_dots.hpp>
#include <kiln/device/cpu/products/gemm_kernel.hpp>
#include <kiln/device/cpu/products/gemm_problem.hpp>
#include <kiln/device/cpu/products/gemm_vector.hpp>
#include <kiln/device/cpu/simd/partial.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

// `Rows` rows of C from row i on, those beyond the last computed again for nothing, by `count` columns from j on: rows
// of B, which are contiguous, times elements of A.
template <int Rows, int Vectors, class T>
[[gnu::noinline]] void small_tile(const gemm_problem<T>& p, std::int64_t i, std::int64_t j, int count) {
  using V = typename gemm_vector<T>::type;
  constexpr int N = gemm_vector<T>::lanes, width = Vectors * N;
  const T* row[std::size_t{Rows}];
  // Operands without elements may be null pointers.
  const bool none = p.k == 0;
  unroll<Rows>([&](int r)
                   __attribute__((always_inline)) { row[r] = none ? p.a : p.a + std::min(i + r, p.m - 1) * p.a_row; });
  V sum[std::size_t{Rows}][std::size_t{Vectors}] = {};
  // Where loads cannot be masked, a vector that would reach over the edge begins earlier, if there are columns before.
  constexpr bool masked = hardware::Masked<vector_bytes>;
  const int last = count - (Vectors - 1) * N;
  const int again = masked || p.n < N ? 0 : N - last;
  const auto add_products = [&](auto load_last) __attribute__((always_inline)) {
    const T* from = none ? p.b : p.b + j;
    for (std::int64_t q = 0, at = 0; q < p.k; ++q, from += p.b_row, at += p.a_col) {
      V columns[std::size_t{Vectors}];
      unroll<Vectors - 1>([&](int v) __attribute__((always_inline)) { columns[v] = load_vector<V>(from + v * N); });
      columns[Vectors - 1] = load_last(from + (Vectors - 1) * N);
      unroll<Rows>([&](int r) __attribute__((always_inline)) {
        const T value = row[r][at];
        unroll<Vectors>([&](int v) __attribute__((always_inline)) { sum[r][v] += columns[v] * value; });
      });
    }
  };
  if (!masked && last + again == N)
    add_products([&](const T* from) __attribute__((always_inline)) { return load_vector<V>(from - again); });
  else if constexpr (masked || Vectors == 1)
    add_products([&](const T* from)
                     __attribute__((always_inline)) { return native_load_partial<T, N>(from, last, T{}); });
  const int rows = static_cast<int>(std::min<std::int64_t>(Rows, p.m - i));
  if (p.c_col == 1 && (masked || (rows == Rows && last == N))) {
    unroll<Rows>([&](int r) __attribute__((always_inline)) {
      if (r >= rows) return;
      unroll<Vectors>([&](int v) __attribute__((always_inline)) {
        T* const to = p.c + (i + r) * p.c_row + j + v * N;
        if constexpr (masked) {
          const int some = v + 1 < Vectors ? N : last;
          if (p.add) sum[r][v] += native_load_partial<T, N>(to, some, T{});
          store_partial(to, lanes<T, N>(sum[r][v]), some);
        } else {
          store_vector(to, p.add ? load_vector<V>(to) + sum[r][v] : sum[r][v]);
        }
      });
    });
    return;
  }
  // In this order, as the last vector of a row may begin with what belongs to the one before.
  T values[std::size_t{Rows * width + N}];
  unroll<Rows>([&](int r) __attribute__((always_inline)) {
    T* const end = values + r * width + (Vectors - 1) * N;
    store_vector(end, sum[r][Vectors - 1]);
    if (again > 0) store_vector(end, load_vector<V>(static_cast<const T*>(end) + again));
    unroll<Vectors - 1>([&](int v)
                            __attribute__((always_inline)) { store_vector(values + r * width + v * N, sum[r][v]); });
  });
  store_tile(values, width, gemm_target<T, T>{p.c + i * p.c_row + j * p.c_col, p.c_row, p.c_col, rows, count, p.add});
}

// Rows from i on by columns from `begin` to `end`: tiles of few rows are as many vectors wide as it takes to hide the
// latency of their sums.
template <int Rows, class T>
void small_rows(const gemm_problem<T>& p, std::int64_t i, std::int64_t begin, std::int64_t end) {
  constexpr int N = gemm_vector<T>::lanes, vectors = Rows > gemm_row_step ? 2 : 4, wide = vectors * N;
  std::int64_t j = begin;
  for (; end - j > wide - N; j += wide)
    small_tile<Rows, vectors>(p, i, j, static_cast<int>(std::min<std::int64_t>(wide, end - j)));
  // With one vector, two rows wait for their sums as long as four.
  for (; j < end; j += N)
    small_tile<std::max(Rows, gemm_row_step), 1>(p, i, j, static_cast<int>(std::min<std::int64_t>(N, end - j)));
}

// Columns of C are shared among the threads, in whole tiles, and finished while they are in cache.
template <class T>
void gemm_small_tiles(const gemm_problem<T>& p) {
  constexpr std::int64_t high = 2 * gemm_row_step, wide = 4 * gemm_vector<T>::lanes;
  constexpr std::int64_t least = std::int64_t{1} << 17;  // multiplications: less is not worth another thread
  const std::int64_t strip = wide * (1 + least / (wide * p.m * std::max<std::int64_t>(p.k, 1)));
  parallel_for(p.n, strip, [&](std::int64_t begin, std::int64_t stop) {
    for (std::int64_t end = begin; begin < stop; begin = end) {
      end = std::min(begin + strip, stop);
      for (std::int64_t i = 0; i < p.m; i += high) {
        if (p.m - i > gemm_row_step)
          small_rows<high>(p, i, begin, end);
        else if (p.m - i > 2)
          small_rows<gemm_row_step>(p, i, begin, end);
        else
          small_rows<2>(p, i, begin, end);
      }
      p.finish(0, p.m, begin, end);
    }
  });
}

inline constexpr std::int64_t small_copy = 1024;  // elements of B, whose rows are made contiguous if they are not

template <class T>
void gemm_small_copied(gemm_problem<T> p) {
  T copy[std::size_t{small_copy}];
  for (std::int64_t j = 0; j < p.n; ++j) {
    for (std::int64_t q = 0; q < p.k; ++q) copy[q * p.n + j] = p.b[q * p.b_row + j * p.b_col];
  }
  p.b = copy;
  p.b_row = p.n;
  p.b_col = 1;
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
  return p.b_col == 1 && p.m <= 2 * gemm_row_step && (hardware::Masked<vector_bytes> || p.n >= gemm_vector<S>::lanes);
}

/// Whether a product had better be done by gemm_small.
template <class S>
bool gemm_is_small(const gemm_problem<S>& p) {
  const std::int64_t work = p.m * p.n * p.k;
  if (work <= 256) return true;
  if constexpr (std::is_floating_point_v<S>) {
    if (p.m == 1 || p.n == 1) return false;
    if (is_one_tile_high(p) || is_one_tile_high(p.transposed())) return true;
    // Tiles of vectors: as fast as others while both operands are in the first-level cache.
    if (p.b_col == 1 && p.c_col == 1) return work <= 65536 && p.k * p.n * std::int64_t{sizeof(S)} <= 16384;
    if (p.a_row == 1 || p.b_col == 1) return work <= 4096;
    return p.k < gemm_vector<S>::lanes && p.k * p.n <= small_copy && work <= 65536;
  }
  return false;
}

/// The product of a problem that gemm_is_small.
template <class S>
void gemm_small(const gemm_problem<S>& p) {
  if constexpr (std::is_floating_point_v<S>) {
    const bool rows = p.b_col == 1, columns = p.a_row == 1;
    const bool narrow = p.n < p.m && is_one_tile_high(p.transposed());
    if (columns && (!rows || p.c_col != 1 || narrow)) return gemm_small_tiles(p.transposed());
    if (rows) return gemm_small_tiles(p);
    constexpr std::int64_t lanes = gemm_vector<S>::lanes;
    if (p.k > 0 && gemm_has_dots(p)) {
      if (p.k >= lanes) return gemm_dots(p);
      // Tiles would have parts of vectors only, which is slow where loads cannot be masked.
      if (!hardware::Masked<vector_bytes> && std::min(p.m, p.n) < lanes)
        return gemm_dots(p.n < p.m ? p.transposed() : p);
    }
    if (p.k * p.n <= small_copy) return gemm_small_copied(p);
  }
  gemm_small_words(p);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
