// SPDX-License-Identifier: BSL-1.0
// Matrix products of tensors that have memory: strides and batches turned into calls of gemm.
#pragma once

#include <algorithm>
#include <cstdint>

#include <kiln/device/cpu/gemm.hpp>
#include <kiln/device/cpu/task.hpp>
#include <kiln/expr/product.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

/// A matrix, or a stack of them, seen from a tensor: what gemm wants to know. A 1-D tensor is a row on the left side
/// of a product and a column on the right.
struct matrix_stack {
  std::int64_t rows = 1, columns = 1, row_stride = 1, column_stride = 1;
  dims batch, batch_strides;
};

inline matrix_stack as_matrices(const tensor_state& t, bool left) {
  matrix_stack m;
  const int rank = t.sizes.rank();
  if (rank == 1) {
    (left ? m.columns : m.rows) = t.sizes[0];
    (left ? m.column_stride : m.row_stride) = t.strides[0];
    return m;
  }
  m.rows = t.sizes[rank - 2];
  m.columns = t.sizes[rank - 1];
  m.row_stride = t.strides[rank - 2];
  m.column_stride = t.strides[rank - 1];
  for (int i = 0; i + 2 < rank; ++i) {
    m.batch.push_back(t.sizes[i]);
    m.batch_strides.push_back(t.strides[i]);
  }
  return m;
}

inline matrix_stack transposed(matrix_stack m) {
  std::swap(m.rows, m.columns);
  std::swap(m.row_stride, m.column_stride);
  return m;
}

/// The batch axes of a product: those of its operands and its result, broadcast.
inline dims joint_batch(const matrix_stack& a, const matrix_stack& b, const matrix_stack& out) {
  dims batch = out.batch;
  broadcast_into(batch, a.batch);
  broadcast_into(batch, b.batch);
  return batch;
}

/// What is applied to each finished block of a product; may be empty. One type, so that a product is compiled once per
/// element type and not once per expression.
struct block_function {
  void (*call)(void* object, std::int64_t batch, std::int64_t row_begin, std::int64_t row_end,
               std::int64_t column_begin, std::int64_t column_end) = nullptr;
  void* object = nullptr;
};

/// Products of two stacks of matrices, whose batches broadcast, into or onto a contiguous stack of results. Results
/// that were broadcast along a batch axis (stride 0 in `out`) are added up.
template <class T>
void multiply(const matrix_stack& a, const T* a_data, const matrix_stack& b, const T* b_data, const matrix_stack& out,
              T* out_data, bool accumulate, block_function then = {}) {
  const std::int64_t m = a.rows, n = b.columns, k = a.columns;
  const cpu::matrix_ref<const T> left{a_data, a.row_stride, a.column_stride},
      right{b_data, b.row_stride, b.column_stride};
  auto one = [&](std::int64_t batch, std::int64_t oa, std::int64_t ob, std::int64_t oo, bool add) {
    const cpu::matrix_ref<const T> l{a_data + oa, a.row_stride, a.column_stride},
        r{b_data + ob, b.row_stride, b.column_stride};
    if (!then.call) return cpu::gemm<T>(m, n, k, l, r, out_data + oo, out.row_stride, add);
    auto epilogue = [&](std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
      then.call(then.object, batch, r0, r1, c0, c1);
    };
    cpu::gemm<T>(m, n, k, l, r, out_data + oo, out.row_stride, add, epilogue);
  };
  if (out.batch.rank() == 0 && a.batch.rank() == 0 && b.batch.rank() == 0) return one(0, 0, 0, 0, accumulate);
  // Batches with one stride each go to gemm together; others, and sums over batches, one after the other.
  const dims batch = joint_batch(a, b, out);
  const dims sa = cpu::broadcast_strides(a.batch, a.batch_strides, batch),
             sb = cpu::broadcast_strides(b.batch, b.batch_strides, batch),
             so = cpu::broadcast_strides(out.batch, out.batch_strides, batch);
  const std::int64_t batches = count(batch);
  auto uniform = [&](const dims& s) {
    for (int i = 0; i + 1 < batch.rank(); ++i)
      if (s[i] != s[i + 1] * batch[i + 1]) return false;
    return true;
  };
  bool summed = false;
  for (int i = 0; i < batch.rank(); ++i) summed |= so[i] == 0 && batch[i] != 1;
  if (!summed && uniform(sa) && uniform(sb) && uniform(so)) {
    if (!then.call)
      return cpu::batched_gemm<T>(batches, m, n, k, left, sa.back(), right, sb.back(), out_data, out.row_stride,
                                  so.back(), accumulate);
    auto epilogue = [&](std::int64_t i, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
      then.call(then.object, i, r0, r1, c0, c1);
    };
    return cpu::batched_gemm<T>(batches, m, n, k, left, sa.back(), right, sb.back(), out_data, out.row_stride,
                                so.back(), accumulate, epilogue);
  }
  if (summed && !accumulate) std::fill_n(out_data, count(out.batch) * m * n, T(0));
  for (std::int64_t i = 0; i < batches; ++i) {
    std::int64_t oa = 0, ob = 0, oo = 0, rest = i;
    for (int d = batch.rank() - 1; d >= 0; --d) {
      const std::int64_t at = rest % batch[d];
      rest /= batch[d];
      oa += at * sa[d];
      ob += at * sb[d];
      oo += at * so[d];
    }
    one(i, oa, ob, oo, accumulate || summed);
  }
}

}  // namespace kiln::detail
