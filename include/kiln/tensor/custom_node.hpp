// SPDX-License-Identifier: BSL-1.0
// A node of the graph whose gradients come from a rule that the user wrote.
#pragma once

#include <string>
#include <utility>

#include <kiln/core/version.hpp>
#include <kiln/tensor/op_node.hpp>

namespace kiln::detail {

/// The rule is in the derived class, with the records and kept values; what it gives is checked and added here.
class custom_node : public op_node {
 public:
  const char* name() const override { return name_.c_str(); }
  // KILN_INLINE for the reason that graph_node gives.
  KILN_INLINE void backward(const ref<tensor_state>& gradient) override;

 protected:
  custom_node(std::string name, const device_functions& device) : op_node(device), name_(std::move(name)) {}
  /// Gives the gradients of the inputs that want them, by the rule. `output` is null but in a recorded pass.
  virtual void apply(const ref<tensor_state>& gradient, const ref<gradient_record>& output) = 0;
  /// What adds gradients of an input.
  virtual const runnable& adding(int input) const = 0;
  /// Adds a gradient to that of an input. `owned`: it is contiguous, and nobody else has it.
  void give(int input, ref<tensor_state> values, bool owned);

 private:
  std::string name_;
};

}  // namespace kiln::detail

#ifndef KILN_COMPILED
#include <kiln/tensor/custom_node_impl.hpp>
#endif
