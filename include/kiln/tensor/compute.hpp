// SPDX-License-Identifier: BSL-1.0
// The steps of one evaluation: choose what fits one kernel, compute products, run, record for a backward pass.
// `compute` makes a new tensor (or reuses one nobody else can see); `compute_in_place` overwrites one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include <kiln/expr/own_ops.hpp>
#include <kiln/tensor/evaluate.hpp>

namespace kiln::detail {

/// Defined by autograd.
template <class E, bool Rare>
const gradient_facts& gradient_facts_of();

/// The gradients of E where they can be asked for: where not, no program is compiled for them, which is half of the
/// cost of an expression.
template <bool Tracked, bool Rare, class E>
const gradient_facts* gradients_if() {
  if constexpr (Tracked && is_floating(dtype_of<typename E::value_type>))
    return &gradient_facts_of<E, Rare>();
  else
    return nullptr;
}

/// Room for the operands of E, which nothing is written to before they are: most evaluations need none of it.
template <class E>
class operand_workspace {
 public:
  common::operand_view* data() { return reinterpret_cast<common::operand_view*>(bytes_.data()); }

 private:
  static constexpr std::size_t count = static_cast<std::size_t>(census<E>::leaves) + 1;
  alignas(common::operand_view) std::array<std::byte, count * sizeof(common::operand_view)> bytes_;
};
/// The sizes of an expression, which may be made in `room`. Throws shape_error where operands do not broadcast.
template <class E>
const dims& find_sizes(const E& e, const collected<E>& c, dims& room) {
  if constexpr (is_map<E>)
    return sizes_of_map(facts_of<E>, c.leaf.data(), &e, room);
  else
    return *std::construct_at(&room, shape_of(e));
}

/// Fills in what the evaluation runs over. False if one kernel cannot do it.
template <class E>
bool plan_evaluation(const E& e, collected<E>& c, evaluation& how) {
  if constexpr (census<E>::rows == 0) {
    how.domain = find_sizes(e, c, how.domain);
    return true;
  } else {
    row_request f;
    how.reduction_rooted = value_program<E>::reduction_rooted;
    f.visit(e, !how.reduction_rooted);
    how.domain = f.domain;
    how.axes = f.axes;
    how.keepdim = f.keepdim;
    if (!f.legal) return false;
    if (!how.reduction_rooted && !is_row_node<E> && shape_of(e) != f.domain) return false;
    return shares_as_assumed<E>(c);
  }
}

/// Makes `place` the values of an expression: in what it is, if that may be reused and has the right sizes, else in a
/// new tensor. What is not `Tracked` remembers nothing for backward passes; what is `Rare` is interpreted where it can
/// be.
template <bool Tracked, bool Rare, class E>
void compute_at(ref<tensor_state>& place, bool reuse, const E& e) {
  static_assert(own_ops<E>::type::size >= 0);  // says what is wrong with them here, where few lines lead to it
  static_assert(census<E>::leaves <= common::max_slots - 2,
                "kiln: an expression can hold at most 62 tensors: evaluate a part of it into a Tensor first");
  if constexpr (never_fits<E>) {
    compute_at<Tracked, Rare>(place, reuse, row_split::unnested(e));
  } else {
    collected<E> c(e);
    operand_workspace<E> in;
    if constexpr (is_map<E>) {
      compute_map(facts_of<E, Rare>, gradients_if<Tracked, Rare, E>(), c.view(), &e, place, reuse, in.data());
    } else {
      evaluation how;
      if (!plan_evaluation(e, c, how)) {
        if constexpr (census<E>::rows > 0 && !always_fits<E>)
          return compute_at<Tracked, true>(place, reuse, row_split::apart(e));
      }
      compute_planned(facts_of<E, Rare>, gradients_if<Tracked, Rare, E>(), c.view(), how, result_sizes(e, how), place,
                      reuse, in.data());
    }
  }
}

/// The values of an expression in a tensor of their own.
template <bool Tracked, bool Rare, class E>
ref<tensor_state> compute(const E& e) {
  ref<tensor_state> place;
  compute_at<Tracked, Rare>(place, false, e);
  return place;
}
template <bool Tracked = true, class E>
[[gnu::always_inline]] inline ref<tensor_state> compute(const E& e) {
  return compute<Tracked, false>(e);
}

/// Overwrites `target` with the values of an expression that may read it. Throws shape_error unless the expression has
/// the target's sizes and the target's elements each have a place of their own, graph_error if the expression needs a
/// gradient and the target is a leaf that requires grad, and for views of such leaves. `to_copy` asks for a kernel that
/// reads nothing of the target. Where sizes differ or the target has a history that will not do: nothing is done then,
/// and the answer is false.
template <class E>
bool compute_in_place(const E& e, const ref<tensor_state>& target, bool to_copy = false) {
  collected<E> c(e);
  sizes_workspace room;
  const dims& sizes = find_sizes(e, c, room.sizes);
  if (to_copy && (sizes != target->sizes || (grad_enabled() && target->autograd_metadata))) return false;
  const history_functions* const history = check_in_place(facts_of<E>, c.view(), sizes, *target);
  using T = Tensor<typename E::value_type, typename E::device_type, dynamic_extents>;
  const runnable& copy = runnable_of<value_program<T>, typename E::device_type>;
  if (!may_overwrite(facts_of<E>, c.view(), *target)) {
    overwrite_with(copy, compute(e), *target, history);
    return true;
  }
  if constexpr (is_map<E>) {
    operand_workspace<E> in;
    overwrite(copy, facts_of<E>, gradients_if<true, false, E>(), c.view(), sizes, target, history, in.data());
  }
  return true;
}

}  // namespace kiln::detail
