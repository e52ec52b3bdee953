// SPDX-License-Identifier: BSL-1.0
// Matrix products of dynamic tensors, of float32 and float64. They are evaluated at once; what is done to their results
// stays pending.
#pragma once

#include <kiln/dynamic/tensor.hpp>

namespace kiln::dynamic {

/// The product by NumPy's rules: 1-D operands are a row on the left and a column on the right, axes before the last two
/// are batches and broadcast. Throws shape_error if the inner sizes differ, dtype_error for other types.
tensor matmul(const tensor& a, const tensor& b);
/// The products of two stacks of matrices, (batch, n, k) and (batch, k, m). Throws shape_error for other shapes.
tensor bmm(const tensor& a, const tensor& b);
/// x times the transposed weight (outputs, inputs), plus a bias (outputs) if there is one, as one call of the product.
/// Throws as matmul.
tensor linear(const tensor& x, const tensor& weight, const tensor& bias = {});
/// The sum of the products of two 1-D tensors of one length. Lazy. Throws shape_error for anything else.
tensor dot(const tensor& a, const tensor& b);

}  // namespace kiln::dynamic

#ifndef KILN_COMPILED
#include <kiln/dynamic/products_impl.hpp>
#endif
