// SPDX-License-Identifier: BSL-1.0
// Products whose sums have few terms: bound by writing the result, which is done row by row from one end to the other
// while the rows of B stay in the first-level cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm_problem.hpp>
#include <kiln/device/cpu/products/gemm_vector.hpp>
#include <kiln/device/cpu/simd/partial.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

/// `count` elements of two rows of the result, or of one twice: rows of A from `a` on times as many columns of B.
template <class T>
[[gnu::noinline]] void short_rows(const gemm_problem<T>& p, int rows, const T* a, const T* b, T* c,
                                  std::int64_t count) {
  using V = typename gemm_vector<T>::type;
  constexpr int lanes = gemm_vector<T>::lanes;
  const std::int64_t a_row = rows == 2 ? p.a_row : 0, c_row = rows == 2 ? p.c_row : 0;
  const auto block = [&](auto vectors, auto load, auto store) __attribute__((always_inline)) {
    constexpr int number = vectors();
    V sum[2][std::size_t{number}] = {};
    if (p.add) {
      unroll<number>([&](int v) __attribute__((always_inline)) {
        sum[0][v] = load(c + v * lanes);
        sum[1][v] = load(c + c_row + v * lanes);
      });
    }
    const T *row = b, *value = a;
    for (std::int64_t q = 0; q < p.k; ++q, row += p.b_row, value += p.a_col) {
      const T first = value[0], second = value[a_row];
      unroll<number>([&](int v) __attribute__((always_inline)) {
        const V columns = load(row + v * lanes);
        sum[0][v] += columns * first;
        sum[1][v] += columns * second;
      });
    }
    unroll<number>([&](int v) __attribute__((always_inline)) { store(c + v * lanes, sum[0][v]); });
    unroll<number>([&](int v) __attribute__((always_inline)) { store(c + c_row + v * lanes, sum[1][v]); });
    b += number * lanes;
    c += number * lanes;
    count -= number * lanes;
  };
  const auto load = [](const T* from) __attribute__((always_inline)) {
    return load_vector<V>(from);
  };
  const auto store = [](T * to, V value) __attribute__((always_inline)) {
    store_vector(to, value);
  };
  while (count >= 4 * lanes) block(std::integral_constant<int, 4>{}, load, store);
  while (count >= lanes) block(std::integral_constant<int, 1>{}, load, store);
  if (count == 0) return;
  const int rest = static_cast<int>(count);
  block(
      std::integral_constant<int, 1>{},
      [rest](const T* from) __attribute__((always_inline)) { return native_load_partial<T, lanes>(from, rest, T{}); },
      [rest](T * to, V value)
          __attribute__((always_inline)) { store_partial(to, kiln::cpu::lanes<T, lanes>(value), rest); });
}

// The most terms: tiles read B less often, which counts from here on.
inline constexpr std::int64_t short_terms = vector_bytes == 64 ? 5 : 8;

/// Whether a product had better be done by gemm_short.
template <class T>
bool gemm_is_short(const gemm_problem<T>& p) {
  return p.k <= short_terms && (p.m > 1 || p.b_col == 1) && p.c_col == 1 && p.n >= 4 * gemm_vector<T>::lanes;
}

/// The product of a problem that gemm_is_short.
template <class T>
void gemm_short(gemm_problem<T> p) {
  const gemm_scratch<T> copy(p.b_col == 1 ? 0 : p.k * p.n);
  if (p.b_col != 1) p.move_b(copy.data(), p.n, 1);
  // Columns of which B takes half of a first-level cache, and rows of which an epilogue finds the result in the second.
  constexpr std::int64_t block = 4 * gemm_vector<T>::lanes;
  const std::int64_t wide = std::int64_t{16384 / sizeof(T)} / p.k / block * block;
  const std::int64_t high = 1 + (std::int64_t{1} << 15) / p.n;
  parallel_for(p.m, high, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin, row_end = begin; row < end; row = row_end) {
      row_end = std::min(row + high, end);
      for (std::int64_t col = 0, col_end = 0; col < p.n; col = col_end) {
        col_end = std::min(col + wide, p.n);
        for (std::int64_t i = row; i < row_end; i += 2)
          short_rows(p, i + 1 < row_end ? 2 : 1, p.a + i * p.a_row, p.b + col, p.c + i * p.c_row + col, col_end - col);
        p.finish(row, row_end, col, col_end);
      }
    }
  });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
