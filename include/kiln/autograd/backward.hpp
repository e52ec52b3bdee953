// SPDX-License-Identifier: BSL-1.0
// backward(loss): walks the nodes behind a tensor from the latest to the earliest; each adds to the gradients of what
// it was computed from.
#pragma once

#include <algorithm>
#include <concepts>
#include <vector>

#include <kiln/autograd/node.hpp>

namespace kiln {

/// What backward() may be told.
struct backward_options {
  bool retain_graph = false;  ///< keep what the pass read, so that another can follow
};

namespace detail {

inline bool earlier(const ref<gradient_record>& a, const ref<gradient_record>& b) {
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

}  // namespace detail

/// Adds to the grad() of every leaf that `of` was computed from, given the gradient of some loss by `of` (a tensor
/// or an expression), which has its shape. Frees what the pass has used unless told otherwise. Throws graph_error if
/// `of` depends on no tensor that requires grad, if its graph was freed, or if a value that the pass needs was changed
/// in place.
template <Element T, class Device, Expression G>
void backward(const Tensor<T, Device>& of, const G& its_gradient, backward_options options = {}) {
  static_assert(std::same_as<typename G::value_type, T>,
                "kiln: backward needs a gradient of the tensor's own element type: cast<T>() it");
  const ref<gradient_record>& history = of.state()->history;
  if (!history)
    throw graph_error(message("backward: a tensor of shape ", of.sizes(),
                              " was computed from no tensor that requires grad: "
                              "call requires_grad() on one before computing"));
  const no_grad quiet;
  const Tensor<T, Device> gradient(its_gradient);
  if (gradient.sizes() != of.sizes())
    throw shape_error(message("backward: the gradient has shape ", gradient.sizes(), " but the tensor has ", of.sizes(),
                              ": they must be equal"));
  if (!history->producer) {
    Tensor<T, Device> total =
        history->gradient ? Tensor<T, Device>(Tensor<T, Device>(history->gradient) + gradient) : gradient.clone();
    history->gradient = total.state();
    return;
  }
  detail::backward_pass pass;
  // What a tensor has given out as its own gradient (w.grad()) might be added to while it is read.
  const bool lent = gradient.state()->memory->lent_gradient;
  history->gradient = !lent && gradient.contiguous_layout() ? gradient.state() : gradient.clone().state();
  pass.add(history);
  pass.run(options.retain_graph);
}

/// backward() of a loss, which has one element. Throws graph_error for another number of elements.
template <Element T, class Device>
void backward(const Tensor<T, Device>& loss, backward_options options = {}) {
  if (loss.numel() != 1)
    throw graph_error(
        message("backward: the loss has shape ", loss.sizes(),
                ", not one element: reduce it with sum() or mean(), or pass the gradient of each element"));
  using device = detail::executor<Device>;
  auto one = device::new_tensor(dtype_of<T>, loss.sizes(), *loss.state()->memory);
  device::fill(*one, static_cast<T>(1.0f));
  backward(loss, Tensor<T, Device>(std::move(one)), options);
}

/// Evaluates the loss, then backward().
template <Expression E>
  requires(!Leaf<E>)
void backward(const E& loss, backward_options options = {}) {
  backward(Tensor<typename E::value_type, typename E::device_type>(loss), options);
}

}  // namespace kiln
