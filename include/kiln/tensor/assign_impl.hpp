// SPDX-License-Identifier: BSL-1.0
// The definitions of assign.hpp.
#pragma once

#include <algorithm>

#include <kiln/core/few.hpp>
#include <kiln/tensor/assign.hpp>

namespace kiln::detail {

KILN_INLINE void not_as_placed() {
  throw value_error(
      "assign: two parts of one type over placed tensors differ in a number or a tensor: give one of them another "
      "form");
}

KILN_INLINE void check_assignment(const joint_assignment& a) {
  for (int r = 0; r < a.targets; ++r) {
    const tensor_state& to = *a.target[r];
    if (a.sizes[r] != to.sizes)
      throw shape_error(message("assign: expression ", r, " has shape ", a.sizes[r], " but its tensor has ", to.sizes,
                                ": they must be equal (expand() the expression, or reshape it)"));
    for (int i = 0; i < to.sizes.rank(); ++i)
      if (to.strides[i] == 0 && to.sizes[i] > 1)
        throw shape_error(
            message("assign: along axis ", i, " of shape ", to.sizes,
                    " all elements are one and the same, as expand() makes them: clone() the tensor first"));
    for (int k = 0; k < r; ++k)
      if (reached_bytes(*a.target[k]).meets(reached_bytes(to)))
        throw value_error(message("assign: tensors ", k, " and ", r,
                                  " share elements: which value they get would be a "
                                  "matter of chance"));
  }
  if (!grad_enabled()) return;
  auto is_target = [&](const tensor_state* x) {
    return std::any_of(a.target, a.target + a.targets,
                       [&](const auto& t) { return t->autograd_metadata == x->autograd_metadata; });
  };
  for (int i = 0; i < a.leaves; ++i)
    if (a.leaf[i] && a.leaf[i]->autograd_metadata && !(a.leaf[i]->autograd_metadata->leaf && is_target(a.leaf[i])))
      throw graph_error(
          "assign: an operand needs a gradient, and several results are not recorded: use no_grad, or detach() it");
  for (int r = 0; r < a.targets; ++r)
    if (a.target[r]->autograd_metadata && !a.target[r]->autograd_metadata->leaf)
      throw graph_error(
          "assign: a tensor that was computed from others that require grad would forget them: use "
          "no_grad, or detach() it");
}

KILN_INLINE bool fits_one_kernel(const joint_assignment& a) {
  for (int r = 0; r < a.targets; ++r) {
    const tensor_state& to = *a.target[r];
    if (to.sizes != a.target[0]->sizes) return false;
    for (int i = 0; i < a.leaves; ++i) {
      const tensor_state& from = *a.leaf[i];
      if (!same_view(from, to) && reached_bytes(from).meets(reached_bytes(to))) return false;
    }
  }
  return true;
}

/// A leaf, spread over a domain.
KILN_INLINE common::operand_view operand_of_assignment(const joint_assignment& a, int i, const dims& domain,
                                                       const storage& near) {
  const tensor_state& leaf = *a.leaf[i];
  a.kernel->device->check_operand(*leaf.memory, near);
  return {leaf.data, common::broadcast_strides(leaf.sizes, leaf.strides, domain), size_of(leaf.type)};
}

KILN_INLINE void run_assignment(const joint_assignment& a) {
  const common::program_view& program = a.kernel->program();
  const dims& domain = a.target[0]->sizes;
  const storage& near = *a.target[0]->memory;
  few<common::operand_view, common::max_slots> in(a.leaves);
  few<common::result_view, common::max_slots> out(a.targets);
  for (int i = 0; i < a.leaves; ++i) in[i] = operand_of_assignment(a, i, domain, near);
  for (int r = 0; r < a.targets; ++r) {
    tensor_state& to = *a.target[r];
    a.kernel->device->check_operand(*to.memory, near);
    before_overwriting(*to.memory);
    ++to.memory->version;
    out[r] = {to.data, common::broadcast_strides(to.sizes, to.strides, domain), to.type, false};
  }
  common::task job{.program = &program, .domain = domain, .in = in.data(), .out = out.data(), .scalars = a.number};
  if (count(domain) > 0) a.kernel->run(job, near);
}

KILN_INLINE void run_assignment_apart(const joint_assignment& a, const runnable* const* copy) {
  few<ref<tensor_state>, common::max_slots> values(a.targets);
  for (int r = 0; r < a.targets; ++r) {
    const dims& domain = a.sizes[r];
    const storage& near = *a.target[r]->memory;
    values[r] = a.kernel->device->new_tensor(a.target[r]->type, domain, near);
    few<common::operand_view, common::max_slots> in(a.leaves);
    few<ref<tensor_state>, common::max_slots> unread(a.leaves);
    few<common::result_view, common::max_slots> out(a.targets);
    for (int i = 0; i < a.leaves; ++i) {
      if (a.reads[r] >> i & 1) {
        in[i] = operand_of_assignment(a, i, domain, near);
      } else {
        // What only other results read need not fit this domain: a number stands in for it.
        unread[i] = a.kernel->device->zeros(a.leaf[i]->type, {}, near);
        in[i] = {unread[i]->data, dims::filled(domain.rank(), 0), size_of(a.leaf[i]->type)};
      }
    }
    const tensor_state& to = *values[r];
    out[r] = {to.data, to.strides, to.type, false};
    common::task job{
        .program = &a.kernel->program(), .domain = domain, .in = in.data(), .out = out.data(), .scalars = a.number};
    if (count(domain) > 0) a.kernel->run(job, *to.memory);
  }
  for (int r = 0; r < a.targets; ++r) overwrite_with(*copy[r], values[r], *a.target[r], nullptr);
}

}  // namespace kiln::detail
