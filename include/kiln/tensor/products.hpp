// SPDX-License-Identifier: BSL-1.0
// matmul, dot and outer of tensors and expressions.
#pragma once

#include <type_traits>
#include <utility>

#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/tensor.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

/// The matrix product, by NumPy's rules: 1-D operands are a row on the left and a column on the right, axes before the
/// last two are batches and broadcast. Operands that are expressions are evaluated; the product itself is lazy, and
/// what is done to it elementwise is applied to its blocks while they are in cache. Throws shape_error, when
/// evaluated, if the inner sizes differ.
template <Expression A, Expression B>
auto matmul(const A& a, const B& b) {
  static_assert(!std::is_same_v<typename A::value_type, bool>,
                "kiln: matmul is not defined for bool: cast<T>() to a number type");
  auto left = detail::as_tensor(a);
  auto right = detail::as_tensor(b);
  detail::note_moment(left);
  detail::note_moment(right);
  return product<decltype(left), decltype(right)>{std::move(left), std::move(right)};
}

/// The sum of the products of the elements of two 1-D tensors of one length. Throws shape_error for anything else.
template <Expression A, Expression B>
auto dot(A a, B b) {
  const dims left = shape_of(a), right = shape_of(b);
  if (left.rank() != 1 || left != right)
    throw shape_error(message("dot: shapes ", left, " and ", right,
                              ": both must be 1-D and of one length (use matmul for matrices)"));
  return sum(std::move(a) * std::move(b));
}

/// The matrix of all products of an element of `a` with one of `b`, both 1-D. Throws shape_error for other ranks.
template <Expression A, Expression B>
auto outer(const A& a, const B& b) {
  const auto left = detail::as_tensor(a);
  const auto right = detail::as_tensor(b);
  if (left.dim() != 1 || right.dim() != 1)
    throw shape_error(message("outer: shapes ", left.sizes(), " and ", right.sizes(), ": both must be 1-D"));
  return matmul(unsqueeze(left, 1), unsqueeze(right, 0));
}

template <class X>
template <class Y>
auto common_methods<X>::matmul(const Y& right) const {
  return kiln::matmul(self(), right);
}
template <class X>
template <class Y>
auto common_methods<X>::dot(const Y& other) const {
  return kiln::dot(self(), other);
}

}  // namespace kiln
