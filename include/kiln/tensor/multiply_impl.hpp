// SPDX-License-Identifier: BSL-1.0
// The definitions of multiply.hpp.
#pragma once

#include <kiln/tensor/multiply.hpp>

namespace kiln::detail {

KILN_INLINE matrix_stack as_matrices(const dims& sizes, const dims& strides, bool left) {
  matrix_stack m;
  const int rank = sizes.rank();
  if (rank == 1) {
    (left ? m.columns : m.rows) = sizes[0];
    (left ? m.column_stride : m.row_stride) = strides[0];
    return m;
  }
  m.rows = sizes[rank - 2];
  m.columns = sizes[rank - 1];
  m.row_stride = strides[rank - 2];
  m.column_stride = strides[rank - 1];
  for (int i = 0; i + 2 < rank; ++i) {
    m.batch.push_back(sizes[i]);
    m.batch_strides.push_back(strides[i]);
  }
  return m;
}

KILN_INLINE matrix_stack matrices_of_product(const dims& left, const dims& right, const tensor_state& product) {
  matrix_stack m;
  if (left.rank() > 1) m.rows = left[left.rank() - 2];
  if (right.rank() > 1) m.columns = right.back();
  m.row_stride = m.columns;
  const int batch_axes = product.sizes.rank() - (left.rank() > 1) - (right.rank() > 1);
  for (int i = 0; i < batch_axes; ++i) {
    m.batch.push_back(product.sizes[i]);
    m.batch_strides.push_back(product.strides[i]);
  }
  return m;
}

}  // namespace kiln::detail
