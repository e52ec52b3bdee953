// SPDX-License-Identifier: BSL-1.0
// What an evaluated expression leaves behind for backward passes: one node, with the values that its gradient program
// reads. Its backward pass runs the gradient program, all leaves in one kernel, and turns the gradient of each product
// into products. Here stands what depends on the type of the expression; node_impl.hpp holds the node.
#pragma once

#include <array>
#include <cstdint>

#include <kiln/tensor/op_node.hpp>
#include <kiln/tensor/recorder.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln::detail {

template <class E>
struct gradient_program {
  static constexpr const auto& tape = gradient_tape<E>;
  static constexpr bool reduction_rooted = false;
  static constexpr bool is_gradient = true;  ///< run by the node alone
  static constexpr auto stores = [] {
    std::array<dtype, static_cast<std::size_t>(tape.result_count())> types{};
    for (int r = 0; r < tape.result_count(); ++r)
      types[static_cast<std::size_t>(r)] =
          tape.result(r) < 0 ? dtype::float32 : compute_type(tape[tape.result(r)].type);
    return types;
  }();
};

/// The record of the leaf that a matrix is the transposed of, if the product may write that one's gradient; else null.
inline gradient_record* leaf_before_turn(const gradient_record& record) {
  if (!record.turned || !record.producer || record.hooks) return nullptr;
  gradient_record* const leaf = record.producer->inputs[0].get();
  return leaf && leaf->leaf && !leaf->unwanted ? leaf : nullptr;
}

/// Gradients of the operands of a product, given its own: dA = dP B^T and dB = A^T dP, summed over broadcast batches.
/// The columns of dP are summed beside dB, if that is asked for and the device can: see product_rule.
template <class T, class Device>
bool product_gradient(const saved_product& p, const tensor_state& gradient, const ref<gradient_record>& left,
                      const ref<gradient_record>& right, void* sums) {
  const saved_value &l = *p.left, &r = *p.right;
  const matrix_stack g = matrices_of_product(l.sizes, r.sizes, gradient);
  const T* const dp = static_cast<const T*>(gradient.data);
  if (left) {
    const gradient_target to(*left, functions_of<Device>, *gradient.memory);
    executor<Device>::template multiply<T>(g, dp, transposed(as_matrices(r.sizes, r.strides, false)),
                                           static_cast<const T*>(r.data), as_matrices(*to.tensor, true),
                                           static_cast<T*>(to.tensor->data), to.add, {}, *gradient.memory);
  }
  if (!right) return false;
  // Where a leaf wants the transposed of dB: (A^T dP)^T = dP^T A.
  gradient_record* const turned = leaf_before_turn(*right);
  const gradient_target to(turned ? *turned : *right, functions_of<Device>, *gradient.memory);
  const matrix_stack a = as_matrices(l.sizes, l.strides, true), x = transposed(turned ? g : a), &y = turned ? a : g;
  const T *const values = static_cast<const T*>(l.data), *const x_data = turned ? dp : values,
                 *const y_data = turned ? values : dp;
  // A 1-D right operand is a column: its gradient is written as one, which has the same memory.
  const matrix_stack out = as_matrices(*to.tensor, false);
  T* const out_data = static_cast<T*>(to.tensor->data);
  if constexpr (functions_of<Device>.sums_beside_products)
    if (sums)
      return executor<Device>::template multiply_and_sum<T>(x, x_data, y, y_data, out, out_data, to.add,
                                                            turned != nullptr, sums, *gradient.memory);
  executor<Device>::template multiply<T>(x, x_data, y, y_data, out, out_data, to.add, {}, *gradient.memory);
  return false;
}

#ifdef KILN_COMPILED  // in src/models.cpp
extern template bool product_gradient<float, Cpu>(const saved_product&, const tensor_state&,
                                                  const ref<gradient_record>&, const ref<gradient_record>&, void*);
#endif

/// The rules of the products of an expression, in the order of their slots.
template <class E>
struct product_rule_list {
  std::array<product_rule, static_cast<std::size_t>(census<E>::products) + 1> rules{};
  int n = 0;
  template <class X>
  constexpr void add(std::type_identity<X>) {}
  template <class A, class B>
  constexpr void add(std::type_identity<product<A, B>>) {
    if constexpr (is_floating(dtype_of<typename A::value_type>))
      rules[static_cast<std::size_t>(n)] = &product_gradient<typename A::value_type, typename A::device_type>;
    ++n;
  }
  template <class Op, class... X>
  constexpr void add(std::type_identity<node<Op, X...>>) {
    (add(std::type_identity<X>{}), ...);
  }
  template <class Op, class A>
  constexpr void add(std::type_identity<row_node<Op, A>>) {
    add(std::type_identity<A>{});
  }
};
template <class E>
inline constexpr auto product_rules = [] {
  product_rule_list<E> list;
  list.add(std::type_identity<E>{});
  return list.rules;
}();

/// Whether a backward pass of E reads the value in this slot: of a leaf, of the gradient that arrives, of the result.
template <class E>
inline constexpr auto gradient_reads = [] {
  std::array<bool, static_cast<std::size_t>(census<E>::leaves) + 2> reads{};
  constexpr auto& t = gradient_tape<E>;
  for (int i = 0; i < t.size(); ++i)
    if (t[i].code == opcode::leaf) reads[static_cast<std::size_t>(t[i].slot)] = true;
  return reads;
}();

template <class E, bool Rare>
inline constexpr gradient_facts gradient_facts_for{
    .program = &runnable_of<gradient_program<E>, typename E::device_type, Rare>,
    .reads = gradient_reads<E>.data(),
    .shared = shared_leaves<E>.leaf.data(),
    .products = product_rules<E>.data(),
};
template <class E, bool Rare>
const gradient_facts& gradient_facts_of() {
  return gradient_facts_for<E, Rare>;
}

}  // namespace kiln::detail

#ifndef KILN_COMPILED
#include <kiln/autograd/node_impl.hpp>
#endif
