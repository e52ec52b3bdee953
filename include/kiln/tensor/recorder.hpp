// SPDX-License-Identifier: BSL-1.0
// What a backward pass that is recorded itself (create_graph) asks for. Nodes say what their gradient is made of, in
// terms of this interface; autograd/create_graph.hpp has what implements it, so that programs which never ask for
// second derivatives compile nothing of it.
#pragma once

#include <cstdint>

#include <kiln/tape/program.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/expression_facts.hpp>
#include <kiln/tensor/layout.hpp>
#include <kiln/tensor/saved_value.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

/// The operands of a product that is a leaf of an expression, and what multiplies them.
struct saved_product {
  int slot = -1;
  saved_value *left = nullptr, *right = nullptr;
  operands::multiplier multiply = nullptr;
  int first = 0;  ///< number of the first product of the expression that is this one; its own, if there is none before
};

/// What an evaluated expression kept.
struct recorded_expression {
  const device_functions* device = nullptr;
  tape_view gradient;  ///< leaves, then the gradient that arrives, then the result's value; a result for each leaf
  evaluation how;
  int slots = 0, products = 0, numbers = 0;
  const saved_value* value = nullptr;            ///< per slot of the gradient tape; empty where it is not read
  const saved_product* product = nullptr;        ///< `products` of them
  const ref<gradient_record>* inputs = nullptr;  ///< per leaf, then two for each product
  const std::uint64_t* number = nullptr;
  const dims* sizes = nullptr;           ///< per leaf
  const dtype* types = nullptr;          ///< per leaf
  const std::int16_t* shared = nullptr;  ///< the slot that stands for each slot
};

/// Computes gradients as tensors with histories of their own.
class recorder {
 public:
  /// Adds to the gradients of all that an expression was computed from, given its own and the record of its result.
  virtual void expression(const recorded_expression& e, const ref<tensor_state>& gradient,
                          const ref<gradient_record>& output) = 0;
  /// The elements of a contiguous tensor in another layout.
  virtual ref<tensor_state> view(const ref<tensor_state>& base, const layout& where,
                                 const device_functions& device) = 0;
  /// Zeros of these sizes, to which values are added where `where` says: what takes the gradient of a view to its base.
  virtual ref<tensor_state> place(const ref<tensor_state>& values, const layout& where, const dims& sizes,
                                  const device_functions& device) = 0;
  /// The elements in memory of their own.
  virtual ref<tensor_state> copy(const ref<tensor_state>& values, const device_functions& device) = 0;
  /// Adds to the gradient of a record. What is added belongs to nobody else.
  virtual void add(gradient_record& to, const ref<tensor_state>& gradient, const device_functions& device) = 0;

 protected:
  ~recorder() = default;
};

/// The recorder of this program. Throws graph_error where none was compiled.
recorder& the_recorder();

#ifndef KILN_COMPILED
inline recorder* installed_recorder = nullptr;
inline recorder& the_recorder() {
  if (!installed_recorder)
    throw graph_error(
        "create_graph: this program was compiled without what records backward passes: "
        "#include <kiln/autograd/create_graph.hpp> in one of its files, or link kiln::compiled");
  return *installed_recorder;
}
#endif

}  // namespace kiln::detail
