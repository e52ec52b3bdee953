// SPDX-License-Identifier: BSL-1.0
// Products of stacks of matrices: strides and batches turned into calls of gemm.
#pragma once

#include <algorithm>
#include <cstdint>

#include <kiln/device/cpu/kernel/compiled.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm.hpp>
#include <kiln/expr/matrix_stack.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

using kiln::detail::batch_offset;
using kiln::detail::epilogue_function;
using kiln::detail::matrix_stack;

namespace detail {

template <class T>
void begin_with_zeros(const gemm_problem<T>& product, const matrix_stack& out) {
  if (!product.add) std::fill_n(product.c, count(out.batch) * product.m * product.n, T(0));
}

// Of stacks, of which `product` is the first.
template <class T>
[[gnu::cold]] void multiply_stacks(gemm_problem<T>& product, const matrix_stack& a, const matrix_stack& b,
                                   const matrix_stack& out) {
  // Batches with one stride each go to gemm together; others, and sums over batches, one after the other.
  const dims batch = joint_batch(a, b, out);
  const std::int64_t batches = count(batch);
  // An axis of a stack that holds nothing may be of any length: its strides are not to be computed with.
  if (batches == 0) return begin_with_zeros(product, out);
  const dims sa = broadcast_strides(a.batch, a.batch_strides, batch),
             sb = broadcast_strides(b.batch, b.batch_strides, batch),
             so = broadcast_strides(out.batch, out.batch_strides, batch);
  auto uniform = [&](const dims& s) {
    for (int i = 0; i + 1 < batch.rank(); ++i)
      if (s[i] != s[i + 1] * batch[i + 1]) return false;
    return true;
  };
  bool summed = false, all_summed = true;
  for (int i = 0; i < batch.rank(); ++i) {
    summed |= so[i] == 0 && batch[i] != 1;
    all_summed &= so[i] == 0 || batch[i] == 1;
  }
  if (!summed && uniform(sa) && uniform(sb) && uniform(so))
    return run_gemm_batch(product, batches, sa.back(), sb.back(), so.back());
  if (summed && all_summed && uniform(sa) && uniform(sb) && sa.back() == product.k * a.column_stride &&
      sb.back() == product.k * b.row_stride) {
    // A sum over the whole batch whose matrices continue one another: one product with a longer sum.
    product.k *= batches;
    return run_gemm(product);
  }
  if (summed) begin_with_zeros(product, out);
  product.add |= summed;
  const gemm_problem<T> first(product);
  for (std::int64_t i = 0; i < batches; ++i) {
    product.a = first.a + batch_offset(i, batch, sa);
    product.b = first.b + batch_offset(i, batch, sb);
    product.c = first.c + batch_offset(i, batch, so);
    product.done.first = i;
    run_gemm(product);
  }
}

}  // namespace detail

/// Products of two stacks of matrices, whose batches broadcast, into or onto a contiguous stack of results. Results
/// that were broadcast along a batch axis (stride 0 in `out`) are added up.
template <class T>
void multiply(const matrix_stack& a, const T* a_data, const matrix_stack& b, const T* b_data, const matrix_stack& out,
              T* out_data, bool accumulate, epilogue_function epilogue = {}) {
  const std::int64_t m = a.rows, n = b.columns, k = a.columns;
  // Any number of matrices may hold nothing.
  if (m == 0 || n == 0) return;
  detail::gemm_problem<T> product{m,
                                  n,
                                  k,
                                  a_data,
                                  a.row_stride,
                                  a.column_stride,
                                  b_data,
                                  b.row_stride,
                                  b.column_stride,
                                  out_data,
                                  out.row_stride,
                                  1,
                                  accumulate,
                                  {epilogue.call, epilogue.object}};
  if (k == 0 && !epilogue.call) return begin_with_zeros(product, out);
  if (out.batch.rank() == 0 && a.batch.rank() == 0 && b.batch.rank() == 0) return run_gemm(product);
  multiply_stacks(product, a, b, out);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
