// SPDX-License-Identifier: BSL-1.0
// The definitions of multiply.hpp.
#pragma once

#include <kiln/tensor/multiply.hpp>

namespace kiln::detail {

KILN_INLINE matrix_stack as_matrices(const tensor_state& t, bool left) {
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

}  // namespace kiln::detail
