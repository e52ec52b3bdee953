// SPDX-License-Identifier: BSL-1.0
// Products too small to be worth packing: read where they are, with vectors that reach over no edge.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm_problem.hpp>
#include <kiln/device/cpu/products/gemm_vector.hpp>
#include <kiln/device/cpu/simd/partial.hpp>
#include <kiln/device/cpu/simd/reduce.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

// `Rows` rows of C from row i on, those beyond the last computed again for nothing, by `count` columns from j on: rows
// of B, which are contiguous, times elements of A.
template <int Rows, int Vectors, class T>
[[gnu::noinline]] void small_tile(const gemm_problem<T>& p, std::int64_t i, std::int64_t j, int count) {
  constexpr int N = gemm_vector<T>::lanes;
  using V = lanes<T, N>;
  const T* row[std::size_t{Rows}];
  // Operands without elements may be null pointers.
  const bool none = p.k == 0;
  unroll<Rows>([&](int r) __attribute__((always_inline)) {
    row[r] = none ? p.a : p.a + std::min(i + r, p.m - 1) * p.a_row;
  });
  V sum[std::size_t{Rows}][std::size_t{Vectors}];
  unroll<Rows>([&](int r) __attribute__((always_inline)) {
    unroll<Vectors>([&](int v) __attribute__((always_inline)) { sum[r][v] = V(T(0)); });
  });
  const T* from = none ? p.b : p.b + j;
  const int last = count - (Vectors - 1) * N;  // columns of the last vector
  for (std::int64_t q = 0, at = 0; q < p.k; ++q, from += p.b_row, at += p.a_col) {
    V columns[std::size_t{Vectors}];
    unroll<Vectors>([&](int v) __attribute__((always_inline)) {
      if (v + 1 < Vectors)
        columns[v] = load<N>(from + v * N);
      else
        columns[v] = load_partial_or<N>(from + v * N, last, T(0));
    });
    unroll<Rows>([&](int r) __attribute__((always_inline)) {
      const V value(row[r][at]);
      unroll<Vectors>([&](int v) __attribute__((always_inline)) { sum[r][v] = sum[r][v] + columns[v] * value; });
    });
  }
  // Written out, as sums that a loop picks by number would live in memory all the time.
  unroll<Rows>([&](int r) __attribute__((always_inline)) {
    if (i + r >= p.m) return;
    T* const to = p.c + (i + r) * p.c_row + j * p.c_col;
    unroll<Vectors>([&](int v) __attribute__((always_inline)) {
      const int some = v + 1 < Vectors ? N : last;
      if (p.c_col == 1) {
        T* const out = to + v * N;
        store_partial(out, p.add ? load_partial_or<N>(static_cast<const T*>(out), some, T(0)) + sum[r][v] : sum[r][v],
                      some);
      } else {
        const auto values = to_array(sum[r][v]);
        for (int l = 0; l < some; ++l) {
          T& out = to[(v * N + l) * p.c_col];
          out = p.add ? out + values[static_cast<std::size_t>(l)] : values[static_cast<std::size_t>(l)];
        }
      }
    });
  });
}

template <int Rows, class T>
void small_rows(const gemm_problem<T>& p, std::int64_t i) {
  constexpr int N = gemm_vector<T>::lanes;
  std::int64_t j = 0;
  for (; p.n - j > N; j += 2 * N)
    small_tile<Rows, 2>(p, i, j, static_cast<int>(std::min<std::int64_t>(2 * N, p.n - j)));
  if (j < p.n) small_tile<Rows, 1>(p, i, j, static_cast<int>(p.n - j));
}

template <class T>
void gemm_small_tiles(const gemm_problem<T>& p) {
  constexpr int high = 2 * gemm_row_step, low = std::max(2, high / 4);
  std::int64_t i = 0;
  for (; p.m - i > low; i += high) small_rows<high>(p, i);
  for (; i < p.m; i += low) small_rows<low>(p, i);
}

// Small products as inner products: rows of A and columns of B that are both contiguous.
template <class T>
void gemm_small_dots(const gemm_problem<T>& p) {
  constexpr int N = gemm_vector<T>::lanes;
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      lanes<T, N> sum(T(0));
      for (std::int64_t q = 0; q < p.k; q += N) {
        const int count = static_cast<int>(std::min<std::int64_t>(N, p.k - q));
        sum = sum + load_partial_or<N>(p.a + i * p.a_row + q, count, T(0)) *
                        load_partial_or<N>(p.b + j * p.b_col + q, count, T(0));
      }
      T& to = p.c[i * p.c_row + j * p.c_col];
      to = p.add ? to + reduce_add(sum) : reduce_add(sum);
    }
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
}

/// Whether a product had better be done by gemm_small.
template <class S>
bool gemm_is_small(const gemm_problem<S>& p) {
  const std::int64_t work = p.m * p.n * p.k;
  if (work <= 256) return true;
  if constexpr (std::is_floating_point_v<S>) {
    if (p.m == 1 || p.n == 1) return false;
    // Tiles of vectors: as fast as others while both operands are in the first-level cache.
    if (p.b_col == 1 && p.c_col == 1) return work <= 65536 && p.k * p.n * std::int64_t{sizeof(S)} <= 16384;
    if (p.a_row == 1 || p.b_col == 1) return work <= 4096;
    return p.a_col == 1 && p.b_row == 1 && p.m * p.n <= 64 && work <= 16384;
  }
  return false;
}

/// The product of a problem that gemm_is_small.
template <class S>
void gemm_small(const gemm_problem<S>& p) {
  if constexpr (std::is_floating_point_v<S>) {
    const bool rows = p.b_col == 1, columns = p.a_row == 1;
    if (rows && (p.c_col == 1 || !columns))
      gemm_small_tiles(p);
    else if (columns)
      gemm_small_tiles(p.transposed());
    else if (p.a_col == 1 && p.b_row == 1)
      gemm_small_dots(p);
    else
      gemm_small_words(p);
  } else {
    gemm_small_words(p);
  }
  p.finish(0, p.m, 0, p.n);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
