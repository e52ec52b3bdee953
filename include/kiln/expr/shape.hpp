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
    if (!(axes >> i & 1))
      result.push_back(sizes[i]);
    else if (keepdim)
      result.push_back(1);
  }
  return result;
}

namespace detail {

// Overloads that call each other: members of one class, so that each sees all.
struct shape_walk {
  dims& sizes;

  template <Leaf X>
  constexpr void merge(const X& x) {
    broadcast_into(sizes, x.sizes());
  }
  template <Element T>
  constexpr void merge(const scalar<T>&) {}
  template <class A, class B>
  constexpr void merge(const product<A, B>& x) {
    broadcast_into(sizes, product_sizes(x.a.sizes(), x.b.sizes()));
  }
  template <class Op, class A>
  constexpr void merge(const row_node<Op, A>& x) {
    dims inner;
    shape_walk{inner}.merge(x.a);
    broadcast_into(sizes, Op::reduces ? reduced_sizes(inner, x.axes, x.keepdim) : inner);
  }
  template <class Op, class... X>
  constexpr void merge(const node<Op, X...>& x) {
    merge(x.a);
    if constexpr (sizeof...(X) > 1) merge(x.b);
    if constexpr (sizeof...(X) > 2) merge(x.c);
  }
};

// `shape_walk` folds all leaves into one list, which is fast but meets a mismatch at the leaf, not at the operation
// whose operands disagree. This walk, taken after a mismatch, finds that one.
struct mismatch_walk {
  template <Leaf X>
  [[gnu::cold]] static constexpr dims sizes(const X& x) {
    return x.sizes();
  }
  template <Element T>
  [[gnu::cold]] static constexpr dims sizes(const scalar<T>&) {
    return {};
  }
  template <class A, class B>
  [[gnu::cold]] static constexpr dims sizes(const product<A, B>& x) {
    return product_sizes(x.a.sizes(), x.b.sizes());
  }
  template <class Op, class A>
  [[gnu::cold]] static constexpr dims sizes(const row_node<Op, A>& x) {
    const dims inner = sizes(x.a);
    return Op::reduces ? reduced_sizes(inner, x.axes, x.keepdim) : inner;
  }
  template <class Op, class... X>
  [[gnu::cold]] static constexpr dims sizes(const node<Op, X...>& x) {
    dims result = sizes(x.a);
    if constexpr (sizeof...(X) > 1) broadcast_into(result, sizes(x.b), Op::name.data());
    if constexpr (sizeof...(X) > 2) broadcast_into(result, sizes(x.c), Op::name.data());
    return result;
  }
};

}  // namespace detail

/// The sizes of what the expression computes. Throws shape_error where operands do not broadcast.
template <class X>
constexpr dims shape_of(const X& x) {
  if constexpr (Leaf<X>) {
    return x.sizes();
  } else {
    dims sizes;
    try {
      detail::shape_walk{sizes}.merge(x);
    } catch (const shape_error&) {
      detail::mismatch_walk::sizes(x);
      throw;
    }
    return sizes;
  }
}

}  // namespace kiln
