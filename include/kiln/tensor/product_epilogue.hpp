// SPDX-License-Identifier: BSL-1.0
// What a device's matrix product may do to its result in the same call: add a bias, apply an op. `product_chain` finds
// the expressions that are a product and at most that; what else stands around a product is a kernel's.
#pragma once

#include <cstddef>
#include <type_traits>

#include <kiln/expr/node.hpp>
#include <kiln/expr/product.hpp>
#include <kiln/ops/arithmetic.hpp>
#include <kiln/tensor/executor.hpp>

namespace kiln {
namespace detail {

/// Whether E is one product, to which a leaf may be added and then an op of one operand applied. If so, `bias` is the
/// slot of the leaf that is added, -1 if none is, and `op` the op, void if there is none.
template <class E>
struct product_chain {
  static constexpr bool matches = false;
};
template <class A, class B>
struct product_chain<product<A, B>> {
  static constexpr bool matches = true;
  static constexpr int bias = -1;
  using op = void;
};
template <class A, class B, Leaf X>
struct product_chain<node<add_op, product<A, B>, X>> : product_chain<product<A, B>> {
  static constexpr int bias = 1;
};
template <class A, class B, Leaf X>
struct product_chain<node<add_op, X, product<A, B>>> : product_chain<product<A, B>> {
  static constexpr int bias = 0;
};
template <class Op, class X>
  requires(product_chain<X>::matches&& std::is_void_v<typename product_chain<X>::op>)
struct product_chain<node<Op, X>> : product_chain<X> {
  using op = Op;
};

}  // namespace detail

/// What the products of a device can do to their results. A device that can do more than nothing defines `has<Op>`,
/// also for Op void, and `multiply<T, Op>(a, b, bias, out)`, with a bias or null, which returns false, and has done
/// nothing, where these tensors do not suit.
template <class Device>
struct product_epilogues {
  template <class Op>
  static constexpr bool has = false;
};

namespace detail {

/// Whether all of E may be one call of its device's product, and is more than a product.
template <class E>
constexpr bool is_fused_product() {
  using chain = product_chain<E>;
  if constexpr (!chain::matches) {
    return false;
  } else {
    constexpr bool alone = chain::bias < 0 && std::is_void_v<typename chain::op>;
    return !alone && product_epilogues<typename E::device_type>::template has<typename chain::op>;
  }
}

/// Computes all of E by the product of `a` and `b`. False, and nothing done, where they do not suit.
template <class E>
bool fused_product(tensor_state* const* leaf, const tensor_state& a, const tensor_state& b, tensor_state& out) {
  using chain = product_chain<E>;
  using device = typename E::device_type;
  const tensor_state* bias = nullptr;
  if constexpr (chain::bias >= 0) bias = leaf[chain::bias];
  for (const tensor_state* x : {&a, &b, bias})
    if (x) executor<device>::check_operand(*x->memory, *out.memory);
  return product_epilogues<device>::template multiply<typename E::value_type, typename chain::op>(a, b, bias, out);
}

template <class E>
constexpr auto fused_product_of() -> decltype(&fused_product<E>) {
  if constexpr (is_fused_product<E>())
    return &fused_product<E>;
  else
    return nullptr;
}

template <class E>
inline constexpr bool is_product = false;
template <class A, class B>
inline constexpr bool is_product<product<A, B>> = true;

}  // namespace detail
}  // namespace kiln
