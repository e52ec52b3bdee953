// SPDX-License-Identifier: BSL-1.0
// The definitions of backward.hpp.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <kiln/autograd/backward.hpp>

namespace kiln::detail {

KILN_INLINE bool earlier(const ref<gradient_record>& a, const ref<gradient_record>& b) {
  return a->producer->order < b->producer->order;
}

// Records whose gradient is being collected, latest on top. Leaves nothing half done behind if a node throws.
class backward_pass {
 public:
  // The room of the last pass on this thread is used again, so that passes do not allocate.
  backward_pass() : queue_(std::move(room())) { queue_.clear(); }
  backward_pass(const backward_pass&) = delete;
  backward_pass& operator=(const backward_pass&) = delete;
  ~backward_pass() {
    for (auto& r : queue_) {
      r->queued = false;
      r->gradient = nullptr;
    }
    queue_.clear();
    if (queue_.capacity() > room().capacity()) room() = std::move(queue_);
  }
  void add(const ref<gradient_record>& record) {
    if (!record || !record->producer || record->queued) return;
    record->queued = true;
    queue_.push_back(record);
    std::push_heap(queue_.begin(), queue_.end(), earlier);
  }
  void run(bool retain) {
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), earlier);
      const ref<gradient_record> record = std::move(queue_.back());
      queue_.pop_back();
      record->queued = false;
      const ref<graph_node> node = record->producer;
      const ref<tensor_state> gradient = std::exchange(record->gradient, nullptr);
      if (node->freed)
        throw graph_error(
            "backward: this graph was freed by an earlier backward pass: pass {.retain_graph = true} to the first one "
            "to run "
            "a second, or compute the loss again");
      if (!gradient) continue;
      for (int i = 0; i < node->input_count; ++i) add(node->inputs[i]);
      node->backward(gradient);
      if (!retain) node->release();
    }
  }

 private:
  static std::vector<ref<gradient_record>>& room() {
    static thread_local std::vector<ref<gradient_record>> kept;
    return kept;
  }
  std::vector<ref<gradient_record>> queue_;
};

// A contiguous copy, to which another tensor of the same sizes is added if one is given.
KILN_INLINE ref<tensor_state> copied(const runnable& add, tensor_state& values, tensor_state* more = nullptr) {
  const ref<tensor_state> out = add.device->new_tensor(values.type, values.sizes, *values.memory);
  bool adds = false;
  for (tensor_state* from : {&values, more}) {
    if (!from || count(from->sizes) == 0) continue;
    cpu::operand_view in{from->data, from->strides, size_of(from->type)};
    cpu::result_view result{out->data, out->strides, size_of(out->type), out->type, std::exchange(adds, true)};
    cpu::task job{.program = &add.program(), .domain = out->sizes, .in = &in, .out = &result};
    add.device->check_operand(*from->memory, *out->memory);
    add.run(job, *out->memory);
  }
  return out;
}

KILN_INLINE void check_loss(const tensor_state& loss) {
  if (count(loss.sizes) != 1)
    throw graph_error(
        message("backward: the loss has shape ", loss.sizes,
                ", not one element: reduce it with sum() or mean(), or pass the gradient of each element"));
}

KILN_INLINE void run_backward(const tensor_state& of, const ref<tensor_state>& gradient, const runnable& add,
                              backward_options options) {
  const ref<gradient_record> history = of.history;
  if (!history)
    throw graph_error(message("backward: a tensor of shape ", of.sizes,
                              " was computed from no tensor that requires grad: "
                              "call requires_grad() on one before computing"));
  if (gradient->sizes != of.sizes)
    throw shape_error(message("backward: the gradient has shape ", gradient->sizes, " but the tensor has ", of.sizes,
                              ": they must be equal"));
  const no_grad quiet;
  if (!history->producer) {
    history->gradient = history->gradient ? copied(add, *history->gradient, gradient.get()) : copied(add, *gradient);
    return;
  }
  backward_pass pass;
  // What a tensor has given out as its own gradient (w.grad()) might be added to while it is read.
  history->gradient = !gradient->memory->lent_gradient && gradient->contiguous ? gradient : copied(add, *gradient);
  pass.add(history);
  pass.run(options.retain_graph);
}

}  // namespace kiln::detail
