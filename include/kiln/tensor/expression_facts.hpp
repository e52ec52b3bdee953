// SPDX-License-Identifier: BSL-1.0
// An expression as plain data: what code that is compiled once for all of them needs to know.
#pragma once

#include <cstdint>

#include <kiln/expr/matrix_stack.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

/// What one evaluation ran over; a backward pass runs over the same.
struct evaluation {
  dims domain;
  std::uint32_t axes = 0;
  bool reduction_rooted = false, keepdim = false;
};

/// The leaves of an expression, in the order of their slots, and its numbers. A leaf that is a product is null until it
/// is computed; its operands and what multiplies them stand under the same number.
struct operands {
  using multiplier = void (*)(const tensor_state&, const tensor_state&, tensor_state&, epilogue_function);
  tensor_state** leaf = nullptr;
  const std::uint64_t* number = nullptr;
  tensor_state **product_left = nullptr, **product_right = nullptr;
  const multiplier* multiply = nullptr;
};

struct gradient_facts;

/// What is to be remembered for backward passes: nothing where there are no facts, else by the functions of a history.
struct recorded_gradients {
  const gradient_facts* facts = nullptr;
  const history_functions* history = nullptr;
};

/// What is known of an expression from its type.
struct expression_facts {
  const runnable* values = nullptr;
  int leaves = 0, scalars = 0, products = 0, rows = 0;
  dtype type = dtype::float32;
  bool is_product = false;  ///< nothing but a product
  /// Of a map of tensors whose leaves do not broadcast: throws shape_error for the op where they meet. Takes the
  /// expression.
  void (*name_mismatch)(const void* expression) = nullptr;
  /// Computes all of it as one product; null where its device does not. See product_epilogue.hpp.
  bool (*fused_product)(tensor_state* const* leaf, const tensor_state& a, const tensor_state& b,
                        tensor_state& out) = nullptr;
  /// Null where there are no reductions, so that files without them hold nothing of it. See run.hpp.
  bool (*reduce_at_once)(const runnable& f, int leaves, const operands& c, const evaluation& how,
                         const tensor_state& out) = nullptr;
  /// Null where there are no products, so that files without them hold nothing of it.
  void (*run_with_products)(const expression_facts& f, const recorded_gradients& gradients, const operands& c,
                            const evaluation& how, const ref<tensor_state>& out, common::operand_view* in) = nullptr;
};

/// Adds to the gradients of a product's operands, where they are wanted, given the product's own. Beside that of the
/// right one, the columns of the given one may be summed, in its type, into `sums`, unless that is null: true if so.
struct saved_product;
using product_rule = bool (*)(const saved_product&, const tensor_state& gradient, const ref<gradient_record>& left,
                              const ref<gradient_record>& right, void* sums);

/// What a backward pass of an expression needs, known from its type.
struct gradient_facts {
  const runnable* program = nullptr;
  const bool* reads = nullptr;             ///< per leaf, then of the gradient and the result: whether its value is read
  const std::int16_t* shared = nullptr;    ///< the slot that stands for each slot
  const product_rule* products = nullptr;  ///< in the order of their slots
};

}  // namespace kiln::detail
