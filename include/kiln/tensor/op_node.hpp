// SPDX-License-Identifier: BSL-1.0
// What all nodes of the graph have in common: the records of their inputs, the values they keep until a backward pass,
// checks of both, and letting go of them. A node of an op adds its rule.
#pragma once

#include <cstddef>
#include <utility>

#include <kiln/tensor/gradient_target.hpp>
#include <kiln/tensor/saved_value.hpp>

namespace kiln::detail {

/// A node whose inputs and kept values stand in arrays; whose, the derived class says.
class op_node : public graph_node {
 public:
  void release() override {
    for (int i = 0; i < saved_count_; ++i) saved_[i].memory = nullptr;
    if (walkable_again_) return;
    for (int i = 0; i < input_count; ++i) inputs[i] = nullptr;
    freed = true;
    call_virtual<&op_node::forget>(*this);
  }
  const device_functions& device() const { return device_; }

 protected:
  explicit op_node(const device_functions& device) : device_(device) {}
  void set_inputs(ref<gradient_record>* first, int n) { inputs = first, input_count = n; }
  void set_saved(saved_value* first, int n) { saved_ = first, saved_count_ = n; }
  /// For a node that keeps nothing: as in PyTorch, passes may go through it again.
  void stay_walkable() { walkable_again_ = true; }
  /// Lets go of what the derived class keeps besides.
  virtual void forget() {}

  /// Whether an input asks for its gradient.
  bool wants(int input) const { return wants_gradient(inputs[input]); }
  /// Where the gradient of an input goes.
  gradient_target target(int input, const storage& near) const { return {*inputs[input], device_, near}; }
  /// Before a pass reads what was kept. Throws graph_error if a value was changed in place since, device_error if it is
  /// on another device than the gradient.
  void check_saved(const storage& near) const {
    for (int i = 0; i < saved_count_; ++i) {
      if (!saved_[i].memory) continue;
      saved_[i].check();
      device_.check_operand(*saved_[i].memory, near);
    }
  }

 private:
  const device_functions& device_;
  saved_value* saved_ = nullptr;
  int saved_count_ = 0;
  bool walkable_again_ = false;
};

/// The value that was kept, with the history of the input it is of.
inline ref<tensor_state> remembered(const saved_value& v, const ref<gradient_record>& autograd_metadata) {
  ref<tensor_state> state = new_state(v.type, v.sizes, v.strides);
  state->data = v.data;
  state->memory = v.memory;
  if (grad_enabled()) state->autograd_metadata = autograd_metadata;
  return state;
}

/// An op_node with so many inputs and kept values. Those that are not wanted stay empty.
template <std::size_t Inputs, std::size_t Saved = 0>
class op_node_of : public op_node {
 protected:
  explicit op_node_of(const device_functions& device) : op_node(device) {
    set_inputs(input, static_cast<int>(Inputs));
    if constexpr (Saved > 0) set_saved(saved, static_cast<int>(Saved));
  }
  ref<gradient_record> input[Inputs];
  saved_value saved[Saved > 0 ? Saved : 1];
};

/// Copies values to a tensor of the same sizes, or adds them to what is there, by what copies and adds tensors of their
/// type.
inline void store_values(const runnable& copy, const tensor_state& values, tensor_state& to, bool add) {
  if (count(to.sizes) == 0) return;
  common::operand_view in{values.data, values.strides, size_of(values.type)};
  common::result_view out{to.data, to.strides, to.type, add};
  common::task job{.program = &copy.program(), .domain = to.sizes, .in = &in, .out = &out};
  copy.run(job, *to.memory);
}

/// Adds values to the gradient of a record.
inline void add_to_gradient(const runnable& add, const tensor_state& values, gradient_record& record) {
  const gradient_target into(record, *add.device, *values.memory);
  store_values(add, values, *into.tensor, into.add);
}

/// Gives a record its gradient in memory that nobody else keeps: the record takes it, or it is added to what is there.
inline void hand_over_gradient(const runnable& add, ref<tensor_state> made, gradient_record& record) {
  ref<tensor_state>& so_far = arriving_gradient(record);
  if (so_far)
    add_to_gradient(add, *made, record);
  else
    so_far = std::move(made);
}

/// Makes a node the producer of a tensor.
inline void set_producer(tensor_state& of, ref<graph_node> node) {
  of.autograd_metadata = new_record(of.type, of.sizes);
  of.autograd_metadata->producer = std::move(node);
}
inline void set_producer(tensor_state& of, graph_node* made) {
  set_producer(of, ref<graph_node>::adopt(made));
}

}  // namespace kiln::detail
