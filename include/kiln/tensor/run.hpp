// SPDX-License-Identifier: BSL-1.0
// Runs an expression that is described by data: operands, numbers, a program. None of it depends on the expression's
// type, so it is compiled once; evaluate.hpp makes the description, run_impl.hpp holds the definitions.
#pragma once

#include <cstdint>

#include <kiln/core/version.hpp>
#include <kiln/device/common/task.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/expression_facts.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

inline bool same_view(const tensor_state& a, const tensor_state& b) {
  return a.data == b.data && a.sizes == b.sizes && a.strides == b.strides;
}

/// The addresses that a tensor reaches: from the first to behind the last. Tensors with memory of their own may have
/// some in common, as blobs.
struct reached_bytes {
  std::uintptr_t begin, end;
  [[gnu::cold]] explicit reached_bytes(const tensor_state& t);
  bool meets(const reached_bytes& other) const { return begin < other.end && other.begin < end; }
};

/// The sizes that all leaves, one or more, broadcast to: those of a leaf, or made in `room`. Throws shape_error if they
/// do not.
const dims& broadcast_leaves(const tensor_state* const* leaf, int leaves, dims& room);
/// The same for a map of tensors; the error names the op of the expression where they do not.
const dims& sizes_of_map(const expression_facts& f, const tensor_state* const* leaf, const void* expression,
                         dims& room);

/// Room for sizes, which nothing is written to before they are.
union sizes_workspace {
  sizes_workspace() {}
  dims sizes;
};

/// Throws graph_error if a tensor of an expression, counted from 1, is not what it was when the expression was written.
[[gnu::cold]] void check_unchanged(const tensor_state& leaf, const moment& wanted, int position);

/// Strides over the domain of a tensor of one value per row: 0 along the row.
dims row_value_strides(const tensor_state& t, const dims& domain, std::uint32_t axes, bool keepdim);

/// A tensor as an operand of a task over `domain`, and as its result.
common::operand_view operand_over(const tensor_state& t, const dims& domain);
common::result_view result_over(const tensor_state& t, const evaluation& how);

/// Whether leaves and numbers that share a slot by `leaf` and `number` are one.
bool shares_as_assumed(const operands& c, const std::int16_t* leaf, int leaves, const std::int16_t* number,
                       int numbers);

/// Runs a program into `out`, which has the right sizes and type. `in` is room for as many operands as it has slots.
void run_program(const runnable& f, const operands& c, const evaluation& how, tensor_state& out,
                 common::operand_view* in);

/// Computes a planned expression into a new tensor, which `place` then is, or into what `place` is if it may be reused
/// and has the right sizes. Without `gradients` it remembers nothing for backward passes. `in` is room for the
/// operands.
void compute_planned(const expression_facts& f, const gradient_facts* gradients, const operands& c,
                     const evaluation& how, const dims& sizes, ref<tensor_state>& place, bool reuse,
                     common::operand_view* in);
/// The same for a map of tensors, which needs no plan. Throws shape_error where they do not broadcast.
void compute_map(const expression_facts& f, const gradient_facts* gradients, const operands& c, const void* expression,
                 ref<tensor_state>& place, bool reuse, common::operand_view* in);

/// What tells backward passes of overwriting `target` with values of these sizes; null where they are not to know.
/// Throws as compute_in_place.
const history_functions* check_in_place(const expression_facts& f, const operands& c, const dims& sizes,
                                        tensor_state& target);

/// Throws shape_error where values of a shape cannot be copied to elements of these sizes.
[[gnu::cold]] void expect_copyable(const dims& values, const dims& sizes);

/// Whether a kernel may write `target` while it reads the leaves: they lie elsewhere, or exactly on it.
bool may_overwrite(const expression_facts& f, const operands& c, const tensor_state& target);

/// Overwrites `target` by one kernel that may read it. What its backward pass will read of the old value is kept, by
/// `copy`.
void overwrite(const runnable& copy, const expression_facts& f, const gradient_facts* gradients, const operands& c,
               const dims& sizes, const ref<tensor_state>& target, const history_functions* history,
               common::operand_view* in);

/// Overwrites `target` with `values`, of the same sizes and type, and their history.
void overwrite_with(const runnable& copy, const ref<tensor_state>& values, tensor_state& target,
                    const history_functions* history);

/// run_at_once() for a program whose result is one value of all elements. Reached through an expression's facts.
bool reduce_at_once(const runnable& f, int leaves, const operands& c, const evaluation& how, const tensor_state& out);

/// Computes an expression with products into `out`, and records. Reached through its facts.
void run_with_products(const expression_facts& f, const recorded_gradients& gradients, const operands& c,
                       const evaluation& how, const ref<tensor_state>& out, common::operand_view* in);

}  // namespace kiln::detail

#ifndef KILN_COMPILED
#include <kiln/tensor/run_impl.hpp>
#endif
