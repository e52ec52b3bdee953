// SPDX-License-Identifier: BSL-1.0
// The definitions of products.hpp.
#pragma once

#include <kiln/dynamic/products.hpp>
#include <kiln/dynamic/products_on.hpp>
#include <kiln/dynamic/shape.hpp>

namespace kiln::dynamic {

namespace graph {
/// The common type of the operands of a product. Integers beside floating numbers become such.
inline dtype type_of_product(const tensor& a, const tensor& b) {
  return promote(a.type(), b.type());
}
}  // namespace graph

KILN_INLINE tensor matmul(const tensor& a, const tensor& b) {
  const dtype type = graph::type_of_product(a, b);
  graph::check_together("matmul", a, b);
  if (!a.device().on_host()) return graph::cuda_driver().matmul(type, a, b);
  return graph::matmul_on<Cpu>(type, a, b);
}
KILN_INLINE tensor bmm(const tensor& a, const tensor& b) {
  if (a.dim() != 3 || b.dim() != 3 || a.sizes()[0] != b.sizes()[0])
    throw shape_error(message("bmm: shapes ", a.sizes(), " and ", b.sizes(),
                              " are no two stacks of as many matrices: use matmul, which broadcasts"));
  return matmul(a, b);
}
KILN_INLINE tensor linear(const tensor& x, const tensor& weight, const tensor& bias) {
  dtype type = graph::type_of_product(x, weight);
  if (bias.defined()) type = promote(type, bias.type());
  graph::check_together("linear", x, weight);
  if (bias.defined()) graph::check_together("linear", x, bias);
  if (!x.device().on_host()) return graph::cuda_driver().linear(type, x, weight, bias);
  return graph::linear_on<Cpu>(type, x, weight, bias);
}
KILN_INLINE tensor dot(const tensor& a, const tensor& b) {
  if (a.dim() != 1 || a.sizes() != b.sizes())
    throw shape_error(message("dot: shapes ", a.sizes(), " and ", b.sizes(),
                              ": both must be 1-D and of one length (use matmul for matrices)"));
  return reduce("sum", call("mul", {a, b}));
}

}  // namespace kiln::dynamic
