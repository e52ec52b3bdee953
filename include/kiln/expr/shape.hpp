// SPDX-License-Identifier: BSL-1.0
// The shape that an expression will have, found by walking it: broadcasting at nodes, axes dropped by reductions.
#pragma once

#include <kiln/core/dims.hpp>
#include <kiln/expr/node.hpp>
#include <kiln/expr/product.hpp>

namespace kiln {

/// `sizes` without the axes in the mask, or with 1 in their place.
constexpr dims reduced_sizes(const dims& sizes, std::uint32_t axes, bool keepdim) {
  dims result;
  for (int i = 0; i < sizes.rank(); ++i) {
    if (!(axes >> i & 1)) result.push_back(sizes[i]);
    else if (keepdim) result.push_back(1);
  }
  return result;
}

namespace detail {

// Overloads that call each other: members of one class, so that each sees all.
struct shape_walk {
  dims sizes;

  template <Leaf X>
  constexpr void merge(const X& x, const char* where) {
    broadcast_into(sizes, x.sizes(), where);
  }
  template <Element T>
  constexpr void merge(const scalar<T>&, const char*) {}
  template <class A, class B>
  constexpr void merge(const product<A, B>& x, const char* where) {
    broadcast_into(sizes, product_sizes(x.a.sizes(), x.b.sizes()), where);
  }
  template <class Op, class A>
  constexpr void merge(const row_node<Op, A>& x, const char* where) {
    shape_walk inner;
    inner.merge(x.a, where);
    broadcast_into(sizes, Op::reduces ? reduced_sizes(inner.sizes, x.axes, x.keepdim) : inner.sizes, where);
  }
  template <class Op, class... X>
  constexpr void merge(const node<Op, X...>& x, const char* where) {
    const char* here = sizeof...(X) > 1 ? Op::name.data() : where;
    merge(x.a, here);
    if constexpr (sizeof...(X) > 1) merge(x.b, here);
    if constexpr (sizeof...(X) > 2) merge(x.c, here);
  }
};

}  // namespace detail

/// The sizes of what the expression computes. Throws shape_error where operands do not broadcast.
template <class X>
constexpr dims shape_of(const X& x) {
  if constexpr (Leaf<X>) {
    return x.sizes();
  } else {
    detail::shape_walk walk;
    walk.merge(x, "broadcast");
    return walk.sizes;
  }
}

}  // namespace kiln
