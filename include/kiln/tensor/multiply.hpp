// SPDX-License-Identifier: BSL-1.0
// Tensors that have memory as operands of matrix products.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/expr/matrix_stack.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

/// The matrices of a tensor of these sizes and strides.
matrix_stack as_matrices(const dims& sizes, const dims& strides, bool left);
inline matrix_stack as_matrices(const tensor_state& t, bool left) {
  return as_matrices(t.sizes, t.strides, left);
}
/// Those of the product of tensors of these sizes, or of its gradient: the axes that 1-D operands dropped are put back.
matrix_stack matrices_of_product(const dims& left, const dims& right, const tensor_state& product);

}  // namespace kiln::detail

#ifndef KILN_COMPILED
#include <kiln/tensor/multiply_impl.hpp>
#endif
