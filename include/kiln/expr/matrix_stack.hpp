// SPDX-License-Identifier: BSL-1.0
// What a product is made of, as plain data: stacks of matrices, and what is done to its blocks.
#pragma once

#include <cstdint>
#include <utility>

#include <kiln/core/dims.hpp>
#include <kiln/expr/shape.hpp>

namespace kiln::detail {

/// A matrix, or a stack of them, seen from a tensor: what gemm wants to know. A 1-D tensor is a row on the left side
/// of a product and a column on the right.
struct matrix_stack {
  std::int64_t rows = 1, columns = 1, row_stride = 1, column_stride = 1;
  dims batch, batch_strides;
};

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

/// How far matrix i of a stack lies behind the first, by its strides along the batch axes.
inline std::int64_t batch_offset(std::int64_t i, const dims& batch, const dims& strides) {
  std::int64_t offset = 0;
  for (int d = batch.rank() - 1; d >= 0; i /= batch[d], --d) offset += i % batch[d] * strides[d];
  return offset;
}

/// What is applied to each finished block of a product; may be empty. One type, so that a product is compiled once per
/// element type and not once per expression.
struct epilogue_function {
  void (*call)(void* object, std::int64_t batch, std::int64_t row_begin, std::int64_t row_end,
               std::int64_t column_begin, std::int64_t column_end) = nullptr;
  void* object = nullptr;
};

}  // namespace kiln::detail
