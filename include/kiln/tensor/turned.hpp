// SPDX-License-Identifier: BSL-1.0
// A matrix transposed for a product: weights that are stored as (out, in). The product delivers the gradient to the
// matrix as it is stored, where that of any other view is computed turned and then added through the view.
#pragma once

#include <kiln/tensor/views.hpp>

namespace kiln::detail {

/// The transposed view of a matrix, for an operand of matmul and nothing else: who holds it must not ask for its
/// gradient.
template <Element T, class Device>
Tensor<T, Device> turned(const Tensor<T, Device>& matrix) {
  const Tensor<T, Device> view = transpose(matrix);
  // What is itself a view has its gradient added through both, to the leaf that it is a part of.
  if (const auto& record = view.state()->autograd_metadata; record && !matrix.state()->is_view) record->turned = true;
  return view;
}

}  // namespace kiln::detail

#ifdef KILN_COMPILED  // in src/models.cpp
extern template kiln::Tensor<float> kiln::detail::turned(const Tensor<float>&);
#endif
