// SPDX-License-Identifier: BSL-1.0
// Products by the library that the build names: a CBLAS (KILN_CBLAS) for float and double, or oneDNN (KILN_ONEDNN) for
// float. The threads are ours: each computes blocks of the result by single calls, so tell the library to use one
// thread (OPENBLAS_NUM_THREADS=1, OMP_NUM_THREADS=1). Without either definition nothing here takes a product.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>

#include <kiln/core/error.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm_blocks.hpp>

#if defined(KILN_ONEDNN) && !defined(KILN_CBLAS)
#include <dnnl.h>
#endif

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

/// Whether the build names a library for products of this element type.
#if defined(KILN_CBLAS)
template <class S>
inline constexpr bool has_blas = std::same_as<S, float> || std::same_as<S, double>;
#elif defined(KILN_ONEDNN)
template <class S>
inline constexpr bool has_blas = std::same_as<S, float>;
#else
template <class S>
inline constexpr bool has_blas = false;
#endif

#if defined(KILN_CBLAS)
// The two functions under names of our own: OpenBLAS's cblas.h would bring a global type named bfloat16 to every
// program that says `using namespace kiln`. Row-major is 101, plain 111, transposed 112.
#if defined(__APPLE__)
void cblas_float(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*,
                 int) __asm__("_cblas_sgemm");
void cblas_double(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*,
                  int) __asm__("_cblas_dgemm");
#else
void cblas_float(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*,
                 int) __asm__("cblas_sgemm");
void cblas_double(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*,
                  int) __asm__("cblas_dgemm");
#endif
#endif

// How such a library sees an operand: rows `stride` apart, or the transpose of that.
struct blas_layout {
  bool fits, transposed;
  std::int64_t stride;
};
inline blas_layout blas_layout_of(std::int64_t rows, std::int64_t cols, std::int64_t row, std::int64_t col) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (col == 1 && row >= std::max<std::int64_t>(cols, 1) && row <= most) return {true, false, row};
  if (row == 1 && col >= std::max<std::int64_t>(rows, 1) && col <= most) return {true, true, col};
  return {false, false, 0};
}

#if defined(KILN_CBLAS) || defined(KILN_ONEDNN)
// One block of the result by one call.
template <class S>
void blas_block(const gemm_problem<S>& p, blas_layout a, blas_layout b, std::int64_t row, std::int64_t row_end,
                std::int64_t col, std::int64_t col_end) {
  const S* const from_a = p.a + row * p.a_row;
  const S* const from_b = p.b + col * p.b_col;
  S* const to = p.c + row * p.c_row + col;
  const S beta = p.add ? S{1} : S{0};
#if defined(KILN_CBLAS)
  const auto small = [](std::int64_t size) { return static_cast<int>(size); };
  const auto call = [&](auto gemm) {
    gemm(101, a.transposed ? 112 : 111, b.transposed ? 112 : 111, small(row_end - row), small(col_end - col),
         small(p.k), S{1}, from_a, small(a.stride), from_b, small(b.stride), beta, to, small(p.c_row));
  };
  if constexpr (std::same_as<S, float>)
    call(cblas_float);
  else
    call(cblas_double);
#else
  const auto status = dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', row_end - row, col_end - col, p.k,
                                 1.0F, from_a, a.stride, from_b, b.stride, beta, to, p.c_row);
  if (status != dnnl_success) throw error(message("gemm: oneDNN reports status ", static_cast<int>(status)));
#endif
}
#endif

/// Computes the product by the library if there is one for it and the strides are of its kind; says whether it did.
template <class S>
bool gemm_by_blas([[maybe_unused]] const gemm_problem<S>& p) {
#if defined(KILN_CBLAS) || defined(KILN_ONEDNN)
  if constexpr (has_blas<S>) {
    const blas_layout a = blas_layout_of(p.m, p.k, p.a_row, p.a_col), b = blas_layout_of(p.k, p.n, p.b_row, p.b_col);
    const blas_layout c = blas_layout_of(p.m, p.n, p.c_row, p.c_col);
    const std::int64_t most = std::numeric_limits<int>::max();
    if (!a.fits || !b.fits || !c.fits || c.transposed || p.m > most || p.n > most || p.k > most) return false;
    // For one thread some 64 Ki elements at a time, so that the epilogue finds them in cache.
    const std::int64_t threads = num_threads();
    std::int64_t high =
        p.done.call == nullptr ? p.m : std::clamp<std::int64_t>(65536 / p.n, std::min<std::int64_t>(p.m, 192), p.m);
    std::int64_t wide = p.n;
    while (threads > 1 && divide_up(p.m, high) * divide_up(p.n, wide) < 4 * threads && std::max(high, wide) > 64) {
      (high > wide ? high : wide) = round_up(std::max(high, wide) / 2, 16);
    }
    const std::int64_t across = divide_up(p.n, wide), tasks = divide_up(p.m, high) * across;
    parallel_for(tasks, 1 + (std::int64_t{1} << 17) / (high * wide * p.k + 1),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t task = begin; task < end; ++task) {
                     const std::int64_t row = task / across * high, row_end = std::min(row + high, p.m);
                     const std::int64_t col = task % across * wide, col_end = std::min(col + wide, p.n);
                     blas_block(p, a, b, row, row_end, col, col_end);
                     p.finish(row, row_end, col, col_end);
                   }
                 });
    return true;
  }
#endif
  return false;
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
