// SPDX-License-Identifier: BSL-1.0
// Runs an expression that is described by data: operands, numbers, a program. None of it depends on the expression's
// type, so it is compiled once; evaluate.hpp makes the description, run_impl.hpp holds the definitions.
#pragma once

#include <cstdint>

#include <kiln/core/version.hpp>
#include <kiln/device/cpu/task.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

/// What one evaluation ran over; a backward pass runs over the same.
struct evaluation {
  dims domain;
  std::uint32_t axes = 0;
  bool row_root = false, keepdim = false;
};

/// The leaves of an expression, in the order of their slots, and its numbers. A leaf that is a product is null until it
/// is computed; its operands and what multiplies them stand under the same number.
struct operands {
  using multiplier = void (*)(const tensor_state&, const tensor_state&, tensor_state&, block_function);
  tensor_state** leaf = nullptr;
  const std::uint64_t* number = nullptr;
  ref<tensor_state>*product_left = nullptr, *product_right = nullptr;
  const multiplier* multiply = nullptr;
};

/// What is known of an expression from its type.
struct expression_facts {
  const runnable* values = nullptr;
  int leaves = 0, scalars = 0, products = 0, rows = 0;
  dtype type = dtype::float32;
  bool is_product = false;  ///< nothing but a product
  /// Computes all of it as one product; null where its device does not. See product_epilogue.hpp.
  bool (*fused_product)(tensor_state* const* leaf, const tensor_state& a, const tensor_state& b,
                        tensor_state& out) = nullptr;
};

/// Adds to the gradients of a product's operands, where they are wanted, given the product's own.
struct saved_product;
using product_rule = void (*)(const saved_product&, const tensor_state& gradient, const ref<gradient_record>& left,
                              const ref<gradient_record>& right);

/// What a backward pass of an expression needs, known from its type.
struct gradient_facts {
  const runnable* program = nullptr;
  const bool* reads = nullptr;             ///< per leaf, then of the gradient and the result: whether its value is read
  const std::int16_t* shared = nullptr;    ///< the slot that stands for each slot
  const product_rule* products = nullptr;  ///< in the order of their slots
};

inline bool same_view(const tensor_state& a, const tensor_state& b) {
  return a.data == b.data && a.sizes == b.sizes && a.strides == b.strides;
}

/// Strides over the domain of a tensor of one value per row: 0 along the row.
dims row_value_strides(const tensor_state& t, const dims& domain, std::uint32_t axes, bool keepdim);

/// Whether leaves and numbers that share a slot by `leaf` and `number` are one.
bool shares_as_assumed(const operands& c, const std::int16_t* leaf, int leaves, const std::int16_t* number,
                       int numbers);

/// Runs a program into `out`, which has the right sizes and type. `in` is room for as many operands as it has slots.
void run_program(const runnable& f, const operands& c, const evaluation& how, tensor_state& out, cpu::operand_view* in);

/// Computes a planned expression into a new tensor, or into `reuse` if that has the right sizes. Without `gradients` it
/// remembers nothing for backward passes. `in` is room for the operands.
ref<tensor_state> compute_planned(const expression_facts& f, const gradient_facts* gradients, const operands& c,
                                  const evaluation& how, const dims& sizes, ref<tensor_state> reuse,
                                  cpu::operand_view* in);

/// Whether a backward pass is to know of overwriting `target` with values of these sizes. Throws as compute_in_place.
bool check_in_place(const expression_facts& f, const operands& c, const dims& sizes, tensor_state& target);

/// Whether a kernel may write `target` while it reads the leaves: they lie elsewhere, or exactly on it.
bool may_overwrite(const expression_facts& f, const operands& c, const tensor_state& target);

/// Overwrites `target` by one kernel that may read it.
void overwrite(const expression_facts& f, const gradient_facts* gradients, const operands& c, const dims& sizes,
               const ref<tensor_state>& target, bool recorded, cpu::operand_view* in);

/// Overwrites `target` with `values`, of the same sizes and type, and their history.
void overwrite_with(const runnable& copy, const ref<tensor_state>& values, tensor_state& target, bool recorded);

/// Defined by autograd: makes `out` remember how it was computed. `in_place`: it was a leaf too, so what backward
/// passes expect to find in its memory is gone.
void record(const expression_facts& f, const gradient_facts& gradients, const operands& c, const evaluation& how,
            const ref<tensor_state>& out, bool in_place);

}  // namespace kiln::detail

#ifndef KILN_COMPILED
#include <kiln/tensor/run_impl.hpp>
#endif
