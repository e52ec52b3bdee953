// SPDX-License-Identifier: BSL-1.0
// Products with a single row: a row vector times a matrix, bound by reading the matrix once. A product with a single
// column is the same thing transposed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm_dots.hpp>
#include <kiln/device/cpu/products/gemm_problem.hpp>
#include <kiln/device/cpu/products/gemm_vector.hpp>
#include <kiln/device/cpu/simd/partial.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

/// `Vectors` vectors of c from column j on, the last of them moved back from the end: the rows of B, each times its
/// element of x, added up in eight registers: fewer vectors have several sums, taken in turn, so that no addition waits
/// for the one before. Which columns are in which strip depends on n alone, and so does the order of the additions.
template <int Vectors, class T>
void row_strip(const gemm_problem<T>& p, const T* x, std::int64_t j, std::int64_t end) {
  using V = typename gemm_vector<T>::type;
  constexpr int lanes = gemm_vector<T>::lanes, sums = 8 / Vectors;
  std::int64_t at[std::size_t{Vectors}];
  V sum[std::size_t{Vectors * sums}];
  unroll<Vectors>([&](int i) __attribute__((always_inline)) { at[i] = std::min(j + i * lanes, end - lanes); });
  unroll<Vectors * sums>([&](int i) __attribute__((always_inline)) { sum[i] = V{}; });
  const T* row = p.b;
  std::int64_t q = 0;
  for (; q + sums <= p.k; q += sums) {
    unroll<sums>([&](int s) __attribute__((always_inline)) {
      unroll<Vectors>([&](int i) __attribute__((always_inline)) {
        sum[s * Vectors + i] += load_vector<V>(row + at[i]) * x[q + s];
      });
      row += p.b_row;
    });
  }
  for (; q < p.k; ++q, row += p.b_row) {
    unroll<Vectors>([&](int i) __attribute__((always_inline)) { sum[i] += load_vector<V>(row + at[i]) * x[q]; });
  }
  T totals[std::size_t{Vectors * lanes}];
  unroll<Vectors>([&](int i) __attribute__((always_inline)) {
    V total = sum[i];
    for (int s = 1; s < sums; ++s) total += sum[s * Vectors + i];
    store_vector(totals + i * lanes, total);
  });
  for (int i = 0; i < Vectors; ++i) {
    const T* const total = totals + i * lanes;
    const std::int64_t first = j + i * lanes, from = std::min(first, end - lanes);  // those before are done
    if (p.c_col == 1 && from == first) {
      T* const to = p.c + from;
      store_vector(to, p.add ? load_vector<V>(to) + load_vector<V>(total) : load_vector<V>(total));
    } else {
      for (std::int64_t l = first - from; l < lanes; ++l) {
        T& to = p.c[(from + l) * p.c_col];
        to = p.add ? to + total[l] : total[l];
      }
    }
  }
}

template <class T>
void row_by_rows(const gemm_problem<T>& p, const T* x, std::int64_t begin, std::int64_t end) {
  constexpr int lanes = gemm_vector<T>::lanes;
  std::int64_t j = begin;
  if (end > lanes) {
    for (; end - j > 4 * lanes; j += 8 * lanes) row_strip<8>(p, x, j, end);
    if (end - j > 2 * lanes)
      row_strip<4>(p, x, j, end);
    else if (j < end)
      row_strip<2>(p, x, j, end);
    return;
  }
  // No more columns than lanes: several sums, taken in turn, hide latency.
  constexpr int sums = 4;
  const int count = static_cast<int>(end - j);
  using L = kiln::cpu::lanes<T, lanes>;
  L sum[std::size_t{sums}];
  unroll<sums>([&](int s) __attribute__((always_inline)) { sum[s] = L(T(0)); });
  const auto add = [&](int s, std::int64_t q) __attribute__((always_inline)) {
    sum[s] = sum[s] + load_partial_or<lanes>(p.b + q * p.b_row + j, count, T(0)) * L(x[q]);
  };
  std::int64_t q = 0;
  for (; q + sums <= p.k; q += sums) unroll<sums>([&](int s) __attribute__((always_inline)) { add(s, q + s); });
  unroll<sums - 1>([&](int s) __attribute__((always_inline)) {
    if (q + s < p.k) add(s, q + s);
  });
  const auto total = to_array((sum[0] + sum[1]) + (sum[2] + sum[3]));
  for (std::int64_t i = j; i < end; ++i) {
    T& to = p.c[i * p.c_col];
    const T value = total[static_cast<std::size_t>(i - j)];
    to = p.add ? to + value : value;
  }
}

// Vectors of a row of B that are read on end.
inline constexpr int line_vectors = 4 * gemm_row_step;

/// `rows` rows of B from row q on, or `Rows`, each times its element of x, added to columns of c up to the last whole
/// `line_vectors`, or put there if these rows are the first.
template <int Rows, class T>
void add_rows(const gemm_problem<T>& p, const T* x, std::int64_t q, std::int64_t rows, std::int64_t begin,
              std::int64_t end) {
  using V = typename gemm_vector<T>::type;
  constexpr int lanes = gemm_vector<T>::lanes, wide = line_vectors * lanes, line = 64 / int{sizeof(T)};
  for (std::int64_t j = begin; j + wide <= end; j += wide) {
    V sum[std::size_t{line_vectors}] = {};
    T* const to = p.c + j;
    if (q > 0 || p.add)
      unroll<line_vectors>([&](int i) __attribute__((always_inline)) { sum[i] = load_vector<V>(to + i * lanes); });
    const T* row = p.b + q * p.b_row + j;
    const auto add = [&](std::int64_t r) __attribute__((always_inline)) {
      const T value = x[r];
      unroll<line_vectors>([&](int i) __attribute__((always_inline)) {
        if (i * lanes % line == 0) __builtin_prefetch(row + i * lanes + line);
        sum[i] += load_vector<V>(row + i * lanes) * value;
      });
      row += p.b_row;
    };
    if constexpr (Rows > 0) {
      unroll<Rows>([&](int r) __attribute__((always_inline)) { add(q + r); });
    } else {
      for (std::int64_t r = q; r < q + rows; ++r) add(r);
    }
    unroll<line_vectors>([&](int i) __attribute__((always_inline)) { store_vector(to + i * lanes, sum[i]); });
  }
}

/// Columns `begin` to `end` of a row times a matrix that is not in the first-level cache: some lines on end of each of
/// a few rows, by instructions of their own for each row. A processor that learns where an instruction reads next (Zen
/// 5) fetches the lines in time; from the second-level cache that gives half as much again.
template <class T>
void row_by_lines(const gemm_problem<T>& p, const T* x, std::int64_t begin, std::int64_t end) {
  constexpr int high = 8, wide = line_vectors * gemm_vector<T>::lanes;
  const std::int64_t whole = end - (end - begin) % wide, sets = p.k - p.k % high;
  for (std::int64_t q = 0; q < sets; q += high) add_rows<high>(p, x, q, high, begin, whole);
  if (sets < p.k) add_rows<0>(p, x, sets, p.k - sets, begin, whole);
  row_by_rows(p, x, whole, end);
}

/// Whether it takes its time to read the matrix.
template <class T>
bool is_far_row(const gemm_problem<T>& p) {
  constexpr std::int64_t size = sizeof(T);
  return p.c_col == 1 && p.k >= 8 && p.n * size >= 1024 && p.n * p.k * size >= 65536;
}

/// Whether a product is a row vector times a matrix of which the columns or the rows are contiguous.
template <class T>
bool gemm_is_row(const gemm_problem<T>& p) {
  return p.m == 1 && (p.b_row == 1 || p.b_col == 1);
}

/// The product of a problem that gemm_is_row.
template <class T>
void gemm_row(const gemm_problem<T>& p) {
  constexpr int strip = 16 * gemm_vector<T>::lanes;
  if (p.a_col != 1) {
    const gemm_scratch<T> copy(p.k);
    for (std::int64_t q = 0; q < p.k; ++q) copy.data()[q] = p.a[q * p.a_col];
    gemm_problem<T> contiguous(p);
    contiguous.a = copy.data();
    contiguous.a_col = 1;
    return gemm_row(contiguous);
  }
  if (p.b_col != 1 || (p.b_row == 1 && p.k > 1)) return gemm_dots(p);
  const std::int64_t grain = strip * (1 + 65536 / (strip * p.k));  // 64 Ki elements of B: some 5 us
  parallel_for(p.n, grain, [&](std::int64_t begin, std::int64_t end) {
    if (is_far_row(p))
      row_by_lines(p, p.a, begin, end);
    else
      row_by_rows(p, p.a, begin, end);
    p.finish(0, 1, begin, end);
  });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
