// SPDX-License-Identifier: BSL-1.0
// Tensors that have memory as operands of matrix products.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/expr/matrix_stack.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

/// The matrices of a tensor.
matrix_stack as_matrices(const tensor_state& t, bool left);

}  // namespace kiln::detail

#ifndef KILN_COMPILED
#include <kiln/tensor/multiply_impl.hpp>
#endif
