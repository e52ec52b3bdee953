// SPDX-License-Identifier: BSL-1.0
// Matrix products of dynamic tensors, of float32 and float64. They are evaluated at once; what is done to their results
// stays pending.
#pragma once

#include <kiln/autograd/node.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/dynamic/tensor.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/turned.hpp>

namespace kiln::dynamic {

namespace graph {
/// The common type of the operands of a product. Integers beside floating numbers become such.
inline dtype type_of_product(const tensor& a, const tensor& b) {
  return promote(a.type(), b.type());
}
}  // namespace graph

/// The product by NumPy's rules: 1-D operands are a row on the left and a column on the right, axes before the last two
/// are batches and broadcast. Throws shape_error if the inner sizes differ, dtype_error for other types.
inline tensor matmul(const tensor& a, const tensor& b) {
  const dtype type = graph::type_of_product(a, b);
  return with_float_or_double(type, "matmul", [&]<class T>(std::type_identity<T>) {
    return tensor(Tensor<T>(kiln::matmul(a.to(type).as<T>(), b.to(type).as<T>())));
  });
}
/// The products of two stacks of matrices, (batch, n, k) and (batch, k, m). Throws shape_error for other shapes.
inline tensor bmm(const tensor& a, const tensor& b) {
  if (a.dim() != 3 || b.dim() != 3 || a.sizes()[0] != b.sizes()[0])
    throw shape_error(message("bmm: shapes ", a.sizes(), " and ", b.sizes(),
                              " are no two stacks of as many matrices: use matmul, which broadcasts"));
  return matmul(a, b);
}
/// x times the transposed weight (outputs, inputs), plus a bias (outputs) if there is one, as one call of the product.
/// Throws as matmul.
inline tensor linear(const tensor& x, const tensor& weight, const tensor& bias = {}) {
  dtype type = graph::type_of_product(x, weight);
  if (bias.defined()) type = promote(type, bias.type());
  return with_float_or_double(type, "linear", [&]<class T>(std::type_identity<T>) {
    const auto in = x.to(type).as<T>();
    const auto turned = detail::turned(weight.to(type).as<T>());
    if (!bias.defined()) return tensor(Tensor<T>(kiln::matmul(in, turned)));
    return tensor(Tensor<T>(kiln::matmul(in, turned) + bias.to(type).as<T>()));
  });
}
/// The sum of the products of two 1-D tensors of one length. Lazy. Throws shape_error for anything else.
inline tensor dot(const tensor& a, const tensor& b) {
  if (a.dim() != 1 || a.sizes() != b.sizes())
    throw shape_error(message("dot: shapes ", a.sizes(), " and ", b.sizes(),
                              ": both must be 1-D and of one length (use matmul for matrices)"));
  return reduce("sum", call("mul", {a, b}));
}

}  // namespace kiln::dynamic
