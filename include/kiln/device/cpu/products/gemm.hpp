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
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/blas.hpp>
#include <kiln/device/cpu/products/gemm_blocks.hpp>
#include <kiln/device/cpu/products/gemm_direct.hpp>
#include <kiln/device/cpu/products/gemm_dots.hpp>
#include <kiln/device/cpu/products/gemm_row.hpp>
#include <kiln/device/cpu/products/gemm_small.hpp>

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

// `Batched`: whether it wants the number of the matrix in front.
template <bool Batched, class Epilogue>
gemm_epilogue erase_epilogue(Epilogue& epilogue) {
  if constexpr (std::is_same_v<std::remove_const_t<Epilogue>, no_epilogue>) {
    return {};
  } else {
    return {[](void* object, std::int64_t matrix, std::int64_t row, std::int64_t row_end, std::int64_t col,
               std::int64_t col_end) {
              if constexpr (Batched)
                (*static_cast<Epilogue*>(object))(matrix, row, row_end, col, col_end);
              else
                (*static_cast<Epilogue*>(object))(row, row_end, col, col_end);
            },
            const_cast<std::remove_const_t<Epilogue>*>(std::addressof(epilogue))};
  }
}

template <class S>
void run_gemm(const gemm_problem<S>& p);

// How many of the last columns had better be done by themselves, as inner products: those of a last vector that holds
// few, and fewer beside a single vector, where tiles of one have too few sums to hide their latency; or all, of up to
// four, where B has to be copied for it and rows of A need not.
template <class S>
std::int64_t gemm_rest(const gemm_problem<S>& p) {
  constexpr std::int64_t lanes = gemm_vector<S>::lanes;
  if (p.k < 2 * lanes) return 0;
  if (p.n <= 4) return p.n > 1 && p.m * p.k > 128 * p.n && p.a_col == 1 && p.b_row != 1 ? p.n : 0;
  const std::int64_t rest = p.n % lanes, least = p.n < 2 * lanes ? 48 / gemm_rows : 4;
  const bool few = least * rest <= lanes && p.n > lanes && p.n < 6 * lanes && p.m >= 8 * rest && p.m * p.k >= 4096;
  return few && (p.a_col == 1 || p.a_row == 1) ? rest : 0;
}

template <class S>
[[gnu::cold]] void gemm_with_rest(const gemm_problem<S>& p, std::int64_t columns) {
  gemm_problem<S> whole(p), rest(p);
  rest.n = columns;
  whole.n = p.n - rest.n;
  rest.c += whole.n * p.c_col;
  rest.b += whole.n * p.b_col;
  rest.done.column += whole.n;
  run_gemm(whole);
  const gemm_scratch<S> copy(p.a_col == 1 ? rest.n * p.k : 0);
  if (p.a_col == 1) rest.move_b(copy.data(), 1, p.k);
  run_gemm(rest);
}

template <class S>
void run_gemm(const gemm_problem<S>& p) {
  if (p.m < 0 || p.n < 0 || p.k < 0) {
    throw shape_error(message("gemm: sizes ", p.m, " x ", p.k, " x ", p.n, " with a negative one; use 0 or more"));
  }
  if (p.m == 0 || p.n == 0) return;
  if constexpr (std::is_floating_point_v<S>) {
    if (const std::int64_t rest = gemm_rest(p)) return gemm_with_rest(p, rest);
  }
  if (p.k == 0 || gemm_is_small(p)) return gemm_small(p);
  if constexpr (std::is_signed_v<S> && std::is_integral_v<S> && sizeof(S) >= 4) {
    // Unsigned elements may alias signed ones, and wrap around by definition.
    using U = std::make_unsigned_t<S>;
    return run_gemm<U>({p.m, p.n, p.k, reinterpret_cast<const U*>(p.a), p.a_row, p.a_col,
                        reinterpret_cast<const U*>(p.b), p.b_row, p.b_col, reinterpret_cast<U*>(p.c), p.c_row, p.c_col,
                        p.add, p.done, p.swapped});
  } else if constexpr (std::same_as<S, gemm_compute<S>>) {
    if (gemm_by_blas(p)) return;
    const gemm_problem<S> transposed = p.transposed();
    if (gemm_is_direct(p)) return gemm_direct(p);
    if (gemm_is_direct(transposed)) return gemm_direct(transposed);
    for (const auto* q : {&p, &transposed}) {
      if (gemm_is_row(*q)) return gemm_row(*q);
      if (gemm_is_dots(*q)) return gemm_dots(*q);
    }
  } else if constexpr (gemm_reads<gemm_compute<S>, S> && !std::is_integral_v<S> && direct_vectors > 2) {
    if (gemm_is_direct_half(p)) return gemm_direct_half(p);
    if (const gemm_problem<S> transposed = p.transposed(); gemm_is_direct_half(transposed))
      return gemm_direct_half(transposed);
  }
  gemm_blocks<S>(p).run();
}

// As many products, of which the given one is the first, their operands and results so many elements apart.
template <class S>
void run_gemm_batch(const gemm_problem<S>& p, std::int64_t batch, std::int64_t a_batch, std::int64_t b_batch,
                    std::int64_t c_batch) {
  if (batch < 0) throw shape_error(message("batched_gemm: ", batch, " matrices; use 0 or more"));
  if (batch > 1 && b_batch == 0 && a_batch == p.m * p.a_row && c_batch == p.m * p.c_row) {
    // All rows of all matrices meet the same B: one product.
    gemm_problem<S> all(p);
    all.m = batch * p.m;
    if (p.m > 0) all.done.matrix_rows = p.m;
    return run_gemm(all);
  }
  // Whole products go round among the threads if there are enough of them, else each is shared.
  const std::int64_t work = std::max<std::int64_t>(p.m * p.n * p.k, 1);
  const bool whole = batch >= 2 * num_threads() || work < (std::int64_t{1} << 17);
  parallel_for(batch, whole ? 1 + (std::int64_t{1} << 17) / work : batch, [&](std::int64_t begin, std::int64_t end) {
    gemm_problem<S> one(p);
    for (std::int64_t i = begin; i < end; ++i) {
      one.a = p.a + i * a_batch;
      one.b = p.b + i * b_batch;
      one.c = p.c + i * c_batch;
      one.done.first = p.done.first + i;
      run_gemm(one);
    }
  });
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
                       accumulate, detail::erase_epilogue<false>(epilogue)});
}

/// `batch` products, one after the other in memory: matrix number i of an operand starts `*_batch` * i elements on,
/// where 0 uses the same one each time. Matrices of C must not overlap. Otherwise as gemm, with the number of the
/// matrix in front: epilogue(i, row_begin, row_end, col_begin, col_end).
template <class T, class Epilogue = const no_epilogue>
void batched_gemm(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, matrix_ref<const T> a,
                  std::int64_t a_batch, matrix_ref<const T> b, std::int64_t b_batch, T* c, std::int64_t ldc,
                  std::int64_t c_batch, bool accumulate = false, Epilogue&& epilogue = {}) {
  detail::run_gemm_batch<T>({m, n, k, a.data, a.row_stride, a.column_stride, b.data, b.row_stride, b.column_stride, c,
                             ldc, 1, accumulate, detail::erase_epilogue<true>(epilogue)},
                            batch, a_batch, b_batch, c_batch);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
