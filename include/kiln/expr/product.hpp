// SPDX-License-Identifier: BSL-1.0
// The matrix product as part of an expression: it ends a kernel, and what stands around it is applied to its result
// while that is still in cache.
#pragma once

#include <type_traits>
#include <utility>

#include <kiln/core/dims.hpp>
#include <kiln/expr/node.hpp>

namespace kiln {

/// A product of two tensors, not computed yet.
template <class A, class B>
struct product : expression_methods<product<A, B>> {
  using operand = void;
  using value_type = typename A::value_type;
  using device_type = typename detail::common_device<typename A::device_type, typename B::device_type>::type;
  static_assert(std::is_same_v<value_type, typename B::value_type>,
                "kiln: matmul needs operands of one element type: cast<T>() one of them");
  A a;
  B b;
  constexpr explicit product(A x, B y) : a(std::move(x)), b(std::move(y)) {}
  using expression_methods<product>::operator=;
};

/// The sizes of a matrix product by NumPy's rules: a 1-D operand is a row on the left and a column on the right, and
/// its axis is dropped from the result; axes before the last two are batches and broadcast.
constexpr dims product_sizes(const dims& a, const dims& b) {
  if (a.rank() == 0 || b.rank() == 0)
    throw shape_error(message("matmul: shapes ", a, " and ", b, ": a 0-d operand has no axis to sum over (use *)"));
  const std::int64_t inner_a = a.back(), inner_b = b.rank() == 1 ? b[0] : b[b.rank() - 2];
  if (inner_a != inner_b)
    throw shape_error(message("matmul: shapes ", a, " and ", b, " do not fit: the last size of the left, ", inner_a,
                              ", must equal the ", b.rank() == 1 ? "only" : "second to last", " size of the right, ",
                              inner_b, " (transpose one of them?)"));
  dims sizes;
  if (a.rank() > 2 || b.rank() > 2) {
    dims batch;
    for (int i = 0; i + 2 < a.rank(); ++i) sizes.push_back(a[i]);
    for (int i = 0; i + 2 < b.rank(); ++i) batch.push_back(b[i]);
    broadcast_into(sizes, batch, "matmul batches");
  }
  if (a.rank() > 1) sizes.push_back(a[a.rank() - 2]);
  if (b.rank() > 1) sizes.push_back(b.back());
  return sizes;
}

}  // namespace kiln
