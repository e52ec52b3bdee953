// SPDX-License-Identifier: BSL-1.0
// The definitions of backward.hpp.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/autograd/pass_watch.hpp>
#include <kiln/tensor/recorder.hpp>

namespace kiln::detail {

KILN_INLINE bool earlier(const ref<gradient_record>& a, const ref<gradient_record>& b) {
  return a->producer->order < b->producer->order;
}

// A gradient that a pass is asked for.
struct capture {
  ref<gradient_record> record;
  ref<tensor_state> gradient;
};

// Takes records by the order of their producers, latest first.
class backward_pass {
 public:
  // The memory of the last pass on this thread is used again, so that passes do not allocate.
  explicit backward_pass(std::vector<capture>* captures = nullptr)
      : gradients_(captures == nullptr), captures_(captures) {
    if (auto* kept = pass_memory::of_this_thread()) queue_ = std::move(kept->queue);
    queue_.clear();
  }
  backward_pass(const backward_pass&) = delete;
  backward_pass& operator=(const backward_pass&) = delete;
  ~backward_pass() {
    queue_.clear();
    if (auto* kept = pass_memory::of_this_thread(); kept && queue_.capacity() > kept->queue.capacity())
      kept->queue = std::move(queue_);
  }
  /// From a tensor whose gradient is given.
  void run(ref<gradient_record> from, ref<tensor_state> gradient, bool retain) {
    pass_slot& slot = gradients_.slot(*from);
    slot.gradient = std::move(gradient);
    if (!slot.skipped) push(std::move(from), slot);
    run(retain);
  }
  /// Leaves out what leads to none of the records whose gradients are asked for: of all others, nothing is computed.
  void select(const ref<gradient_record>& from) {
    for (graph_node* node : nodes_behind(from)) go_to_captured(*node);
    const vector_of<graph_node*> nodes = nodes_behind(
        from, [&](const graph_node& node, int i) -> const ref<gradient_record>& { return input(node, i); });
    std::vector<bool> leads(nodes.size());
    const auto leads_on = [&](const gradient_record& record) {
      if (is_captured(record)) return true;
      if (!record.producer) return false;
      const auto at = std::lower_bound(nodes.begin(), nodes.end(), record.producer->order,
                                       [](const graph_node* node, std::uint64_t order) { return node->order > order; });
      return static_cast<bool>(leads[static_cast<std::size_t>(at - nodes.begin())]);
    };
    for (std::size_t n = nodes.size(); n-- > 0;)  // the first come first
      for (int i = 0; i < nodes[n]->input_count; ++i) {
        const ref<gradient_record>& record = input(*nodes[n], i);
        if (!record) continue;
        if (leads_on(*record))
          leads[n] = true;
        else
          gradients_.skip(*record);
      }
  }
  /// Adds what arrived at leaves to their gradients.
  void deliver() { gradients_.deliver(); }
  /// What arrived at a leaf.
  const ref<tensor_state>& arrived_at(gradient_record& leaf) { return gradients_.slot(leaf).gradient; }
  /// A node with several outputs, of whose records, which follow each other, the first has been taken.
  static bool run_outputs(backward_pass& pass, graph_node& node, const ref<gradient_record>& first,
                          const ref<tensor_state>& gradient) {
    const std::size_t outputs = static_cast<std::size_t>(node.output_count);
    vector_of<ref<tensor_state>> gradients;
    vector_of<ref<gradient_record>> records;
    for (std::size_t i = 0; i < outputs; ++i) gradients.push_back(nullptr), records.push_back(nullptr);
    bool any = static_cast<bool>(gradient);
    gradients[static_cast<std::size_t>(first->output)] = gradient;
    records[static_cast<std::size_t>(first->output)] = first;
    while (!pass.queue_.empty() && pass.queue_.front()->producer.get() == &node) {
      const ref<gradient_record> record = pass.pop();
      const std::size_t at = static_cast<std::size_t>(record->output);
      gradients[at] = pass.arrived(*record);
      any |= static_cast<bool>(gradients[at]);
      records[at] = record;
    }
    if (!any) return false;
    for (int i = 0; i < node.input_count; ++i) pass.add(pass.input(node, i));
    call_virtual<&graph_node::backward_all>(node, gradients.begin(), records.begin());
    return true;
  }

 private:
  const ref<gradient_record>& input(const graph_node& node, int i) const {
    return gradients_.goes_through(node) ? *call_virtual<&graph_node::between>(node) : node.inputs[i];
  }
  bool is_captured(const gradient_record& record) const {
    return std::any_of(captures_->begin(), captures_->end(),
                       [&](const capture& c) { return c.record.get() == &record; });
  }
  // A view of a view leads straight to the base, but here to the views between if the gradient of one is asked for.
  void go_to_captured(graph_node& view) {
    graph_node* end = &view;
    while (!gradients_.goes_through(*end)) {
      const ref<gradient_record>* const between = call_virtual<&graph_node::between>(*end);
      if (!between || !(*between)->producer) return;
      end = (*between)->producer.get();
      if (is_captured(**between)) break;
    }
    for (graph_node* v = &view; v != end; v = (*call_virtual<&graph_node::between>(*v))->producer.get())
      gradients_.go_through(*v);
  }
  void run(bool retain) {
    if (const auto make = hook_watch.load(std::memory_order_relaxed)) hooks_ = make();
    watched([&](pass_watch& w) {
      if (!queue_.empty()) call_virtual<&pass_watch::start>(w, queue_.front());
    });
    while (!queue_.empty()) {
      const ref<gradient_record> record = pop();
      graph_node* const node = record->producer.get();
      ref<tensor_state> gradient = arrived(*record);
      if (node->freed)
        throw graph_error(
            "backward: this graph was freed by an earlier backward pass, which may have failed: pass {.retain_graph = "
            "true} "
            "to the first one to run a second, or compute the loss again");
      bool any = static_cast<bool>(gradient);
      if (node->run_outputs) {
        any = node->run_outputs(*this, *node, record, gradient);
      } else if (any) {
        for (int i = 0; i < node->input_count; ++i) add(input(*node, i));
        call_virtual<&graph_node::backward_last>(*node, gradient, record);
      }
      watched([&](pass_watch& w) { call_virtual<&pass_watch::done>(w, *node); });
      if (any && !retain) call_virtual<&graph_node::release>(*node);
    }
    watched([](pass_watch& w) { call_virtual<&pass_watch::finish>(w); });
  }

  void add(const ref<gradient_record>& record) {
    if (!record || !record->producer) return;
    pass_slot& slot = gradients_.slot(*record);
    if (!slot.queued && !slot.skipped) push(record, slot);
  }
  void push(ref<gradient_record> record, pass_slot& slot) {
    queue_.push_back(std::move(record));
    slot.queued = true;  // now that it is: it might have found no memory
    std::push_heap(queue_.begin(), queue_.end(), earlier);
  }
  template <class F>
  void watched(F f) {
    if (hooks_) f(*hooks_);
    if (anomaly_watch) f(*anomaly_watch);
  }
  // The gradient of a record, now that it is complete.
  ref<tensor_state> arrived(gradient_record& record) {
    ref<tensor_state> gradient = std::exchange(gradients_.slot(record).gradient, nullptr);
    if (hooks_) gradient = call_virtual<&pass_watch::complete>(*hooks_, record, gradient);
    if (captures_)
      for (capture& c : *captures_)
        if (c.record.get() == &record) c.gradient = gradient;
    return gradient;
  }
  ref<gradient_record> pop() {
    std::pop_heap(queue_.begin(), queue_.end(), earlier);
    ref<gradient_record> record = std::move(queue_.back());
    queue_.pop_back();
    gradients_.slot(*record).queued = false;
    return record;
  }

  gradient_pass gradients_;
  vector_of<ref<gradient_record>> queue_;
  std::vector<capture>* captures_;
  owned_watch hooks_;
};

KILN_INLINE void set_outputs(graph_node& node, int count) {
  node.output_count = count;
  node.run_outputs = count > 1 ? &backward_pass::run_outputs : nullptr;
}

[[gnu::cold]] KILN_INLINE ref<tensor_state> contiguous_copy(const runnable& add, const tensor_state& values) {
  const ref<tensor_state> out = add.device->new_tensor(values.type, values.sizes, *values.memory);
  if (count(values.sizes) == 0) return out;
  common::operand_view in{values.data, values.strides, size_of(values.type)};
  common::result_view result{out->data, out->strides, out->type, false};
  common::task job{.program = &add.program(), .domain = out->sizes, .in = &in, .out = &result};
  add.run(job, *out->memory);
  return out;
}

KILN_INLINE void check_loss(const tensor_state& loss) {
  if (count(loss.sizes) != 1)
    throw graph_error(
        message("backward: the loss has shape ", loss.sizes,
                ", not one element: reduce it with sum() or mean(), or pass the gradient of each element"));
}

// Throws unless a gradient can be the first of a pass from this tensor.
KILN_INLINE void check_seed(const tensor_state& of, const tensor_state& gradient, const char* where) {
  if (!of.autograd_metadata)
    throw graph_error(message(where, ": a tensor of shape ", of.sizes,
                              " was computed from no tensor that requires grad: "
                              "call requires_grad() on one before computing"));
  if (gradient.sizes != of.sizes)
    throw shape_error(message(where, ": the gradient has shape ", gradient.sizes, " but the tensor has ", of.sizes,
                              ": they must be equal"));
}
// What a pass starts with. What a tensor has given out as its own gradient (w.grad()) might be added to while it is
// read.
KILN_INLINE ref<tensor_state> seed_of(ref<tensor_state> gradient, const runnable& add, bool recorded) {
  if (gradient->contiguous && (recorded || !gradient->memory->lent_gradient)) return gradient;
  return recorded ? the_recorder().copy(gradient, *add.device) : contiguous_copy(add, *gradient);
}

[[gnu::cold]] KILN_INLINE void run_backward(const tensor_state& of, ref<tensor_state> gradient, const runnable& add,
                                            backward_options options) {
  ref<gradient_record> autograd_metadata = of.autograd_metadata;
  check_seed(of, *gradient, "backward");
  const recording_scope scope(options.create_graph);
  if (!autograd_metadata->producer)
    return add_to_leaf(*autograd_metadata, options.create_graph ? the_recorder().copy(gradient, *add.device)
                                                                : contiguous_copy(add, *gradient));
  backward_pass pass;
  pass.run(std::move(autograd_metadata), seed_of(std::move(gradient), add, options.create_graph),
           options.retain_graph || options.create_graph);
  pass.deliver();
}

}  // namespace kiln::detail
