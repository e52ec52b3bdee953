// SPDX-License-Identifier: BSL-1.0
// Matrix products over raw pointers with any strides: gemm, and batched_gemm over a stack of matrices.
// Both call an epilogue on each block of the result while it is still in cache.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <kiln/core/error.hpp>
#include <kiln/device/cpu/blas.hpp>
#include <kiln/device/cpu/gemm_blocks.hpp>
#include <kiln/device/cpu/gemm_row.hpp>
#include <kiln/device/cpu/isa.hpp>
#include <kiln/device/cpu/simd/all.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Elements of a matrix: (i, j) stands at data[i * row_stride + j * column_stride].
template <class T>
struct matrix_ref {
  T* data;
  std::int64_t row_stride, column_stride;
};

/// The epilogue that does nothing and costs nothing.
struct no_epilogue {};

namespace detail {

template <class Epilogue>
gemm_done erase_epilogue(Epilogue& epilogue) {
  if constexpr (std::is_same_v<std::remove_const_t<Epilogue>, no_epilogue>) {
    return {};
  } else {
    return {[](void* object, std::int64_t row, std::int64_t row_end, std::int64_t col, std::int64_t col_end) {
              (*static_cast<Epilogue*>(object))(row, row_end, col, col_end);
            },
            const_cast<std::remove_const_t<Epilogue>*>(std::addressof(epilogue))};
  }
}

template <class T, class V>
[[gnu::always_inline]] inline void put_sum(T* to, V sum, int count, bool add) {
  constexpr int N = V::size;
  store_partial(to, add ? sum + load_partial<N>(static_cast<const T*>(to), count) : sum, count);
}

// Small products row by row: a row of B, which is contiguous, times an element of A.
template <class T>
void gemm_small_rows(const gemm_problem<T>& p) {
  constexpr int N = vector_bytes / static_cast<int>(sizeof(T));
  for (std::int64_t j = 0; j < p.n; j += N) {
    const int count = static_cast<int>(std::min<std::int64_t>(N, p.n - j));
    for (std::int64_t i = 0; i < p.m; ++i) {
      lanes<T, N> sum(T(0));
      for (std::int64_t q = 0; q < p.k; ++q)
        sum = sum + lanes<T, N>(p.a[i * p.a_row + q * p.a_col]) * load_partial<N>(p.b + q * p.b_row + j, count);
      put_sum(p.c + i * p.c_row + j, sum, count, p.add);
    }
  }
}

// Small products as inner products: rows of A and columns of B that are both contiguous.
template <class T>
void gemm_small_dots(const gemm_problem<T>& p) {
  constexpr int N = vector_bytes / static_cast<int>(sizeof(T));
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

// Products too small to be worth a tile.
template <class S>
void gemm_small(const gemm_problem<S>& p) {
  if constexpr (std::is_floating_point_v<S>) {
    const bool dots = p.a_col == 1 && p.b_row == 1, rows = p.b_col == 1 && p.c_col == 1;
    if (rows && p.n >= (dots ? 4 : p.m))
      gemm_small_rows(p);
    else if (dots)
      gemm_small_dots(p);
    else if (p.a_row == 1 && p.c_row == 1)
      gemm_small_rows(p.transposed());
    else if (rows)
      gemm_small_rows(p);
    else
      gemm_small_words(p);
  } else {
    gemm_small_words(p);
  }
  p.finish(0, p.m, 0, p.n);
}

template <class S>
void run_gemm(const gemm_problem<S>& p) {
  if (p.m < 0 || p.n < 0 || p.k < 0) {
    throw shape_error(message("gemm: sizes ", p.m, " x ", p.k, " x ", p.n, " with a negative one; use 0 or more"));
  }
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0 || p.m * p.n * p.k <= 256) return gemm_small(p);
  if constexpr (std::is_signed_v<S> && std::is_integral_v<S> && sizeof(S) >= 4) {
    // Unsigned elements may alias signed ones, and wrap around by definition.
    using U = std::make_unsigned_t<S>;
    return run_gemm<U>({p.m, p.n, p.k, reinterpret_cast<const U*>(p.a), p.a_row, p.a_col,
                        reinterpret_cast<const U*>(p.b), p.b_row, p.b_col, reinterpret_cast<U*>(p.c), p.c_row, p.c_col,
                        p.add, p.done, p.swapped});
  } else if constexpr (std::same_as<S, gemm_compute<S>>) {
    if (gemm_by_blas(p)) return;
    if (p.m == 1 && (p.b_row == 1 || p.b_col == 1)) return gemm_row(p);
    if (p.n == 1 && (p.a_row == 1 || p.a_col == 1)) return gemm_row(p.transposed());
  }
  gemm_blocks<S>(p).run();
}

}  // namespace detail

/// C = A B, or C += A B if `accumulate`, with A of m x k, B of k x n and C of m x n, whose rows stand `ldc` >= n
/// elements apart and which overlaps neither operand. Any strides will do; the fastest are those with a 1 in them.
/// half and bfloat16 are computed in float and rounded once, integers wrap around.
/// `epilogue(row_begin, row_end, col_begin, col_end)` is called once for each block of C, when it is final, on the
/// thread that computed it. Throws shape_error for negative sizes, memory_error if there is no room to pack operands.
template <class T, class Epilogue = const no_epilogue>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, matrix_ref<const T> a, matrix_ref<const T> b, T* c,
          std::int64_t ldc, bool accumulate = false, Epilogue&& epilogue = {}) {
  detail::run_gemm<T>({m, n, k, a.data, a.row_stride, a.column_stride, b.data, b.row_stride, b.column_stride, c, ldc, 1,
                       accumulate, detail::erase_epilogue(epilogue)});
}

/// `batch` products, one after the other in memory: matrix number i of an operand starts `*_batch` * i elements on,
/// where 0 uses the same one each time. Matrices of C must not overlap. Otherwise as gemm, with the number of the
/// matrix in front: epilogue(i, row_begin, row_end, col_begin, col_end).
template <class T, class Epilogue = const no_epilogue>
void batched_gemm(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, matrix_ref<const T> a,
                  std::int64_t a_batch, matrix_ref<const T> b, std::int64_t b_batch, T* c, std::int64_t ldc,
                  std::int64_t c_batch, bool accumulate = false, Epilogue&& epilogue = {}) {
  constexpr bool plain = std::is_same_v<std::remove_cvref_t<Epilogue>, no_epilogue>;
  if (batch < 0) throw shape_error(message("batched_gemm: ", batch, " matrices; use 0 or more"));
  if (batch > 1 && b_batch == 0 && a_batch == m * a.row_stride && c_batch == m * ldc) {
    // All rows of all matrices meet the same B: one product.
    if constexpr (plain) return gemm(batch * m, n, k, a, b, c, ldc, accumulate);
    const auto split = [&](std::int64_t row, std::int64_t row_end, std::int64_t col, std::int64_t col_end) {
      while (row < row_end) {
        const std::int64_t i = row / m, stop = std::min(row_end, (i + 1) * m);
        if constexpr (!plain) epilogue(i, row - i * m, stop - i * m, col, col_end);
        row = stop;
      }
    };
    return gemm(batch * m, n, k, a, b, c, ldc, accumulate, split);
  }
  // Whole products go round among the threads if there are enough of them, else each is shared.
  const std::int64_t work = std::max<std::int64_t>(m * n * k, 1);
  const bool whole = batch >= 2 * num_threads() || work < (std::int64_t{1} << 17);
  parallel_for(batch, whole ? 1 + (std::int64_t{1} << 17) / work : batch, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const matrix_ref<const T> ai{a.data + i * a_batch, a.row_stride, a.column_stride};
      const matrix_ref<const T> bi{b.data + i * b_batch, b.row_stride, b.column_stride};
      if constexpr (plain) {
        gemm(m, n, k, ai, bi, c + i * c_batch, ldc, accumulate);
      } else {
        gemm(m, n, k, ai, bi, c + i * c_batch, ldc, accumulate,
             [&](std::int64_t row, std::int64_t row_end, std::int64_t col, std::int64_t col_end) {
               epilogue(i, row, row_end, col, col_end);
             });
      }
    }
  });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
