// SPDX-License-Identifier: BSL-1.0
// The definitions of hooks.hpp.
#pragma once

#include <algorithm>
#include <utility>

#include <kiln/autograd/backward_impl.hpp>
#include <kiln/autograd/hooks.hpp>
#include <kiln/tensor/op_node.hpp>

namespace kiln {

namespace detail {

// Runs the hooks of a record, in the order in which they were made.
[[gnu::cold]] KILN_INLINE ref<tensor_state> hooked(const gradient_record& record, ref<tensor_state> gradient) {
  for (gradient_hook* hook = record.hooks; hook; hook = hook->next) {
    const ref<tensor_state> other = hook->call(gradient);
    if (!other) continue;
    if (other->sizes != record.sizes)
      throw shape_error(message("on_gradient: the hook of a tensor of shape ", record.sizes,
                                " gave a gradient of shape ", other->sizes, ": they must be equal"));
    gradient = grad_enabled() ? the_recorder().copy(other, *hook->add->device) : contiguous_copy(*hook->add, *other);
  }
  return gradient;
}

// Leaves with hooks, and how many nodes have yet to add to each. Cold, as otherwise g++ guesses that every watch is
// one, and puts its functions into every file that goes backward.
class hooked_leaves final : public pass_watch {
 public:
  [[gnu::cold]] void start(const ref<gradient_record>& root) override {
    for (const graph_node* const node : nodes_behind(root))
      for (int i = 0; i < node->input_count; ++i) {
        const ref<gradient_record>& record = node->inputs[i];
        if (!record || record->producer || !record->hooks || !wants_gradient(record)) continue;
        if (leaf* const known = find(record))
          ++known->left;
        else
          leaves_.push_back({record, 1});
      }
  }
  [[gnu::cold]] ref<tensor_state> complete(gradient_record& record, const ref<tensor_state>& gradient) override {
    return record.hooks && gradient ? hooked(record, gradient) : gradient;
  }
  [[gnu::cold]] void done(const graph_node& node) override {
    for (int i = 0; i < node.input_count; ++i)
      if (leaf* const of = find(node.inputs[i]); of && --of->left == 0) complete(*of->record);
  }
  // Nodes that no gradient reached have not been counted.
  [[gnu::cold]] void finish() override {
    for (const leaf& of : leaves_)
      if (of.left > 0) complete(*of.record);
  }

 private:
  struct leaf {
    ref<gradient_record> record;
    int left;
  };
  leaf* find(const ref<gradient_record>& record) {
    for (leaf& of : leaves_)
      if (record && of.record == record) return &of;
    return nullptr;
  }
  [[gnu::cold]] static void complete(gradient_record& record) {
    if (const ref<tensor_state> gradient = arriving_gradient(record))
      arriving_gradient(record) = hooked(record, gradient);
  }
  vector_of<leaf> leaves_;
};

KILN_INLINE gradient_hook_handle add_hook(const ref<gradient_record>& record, std::unique_ptr<gradient_hook> hook) {
  static std::atomic<std::uint64_t> next{1};
  hook_watch = [] { return owned_watch(new hooked_leaves); };
  hook->number = next.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t number = hook->number;
  gradient_hook** last = &record->hooks;
  while (*last && (hook->comes_last || !(*last)->comes_last)) last = &(*last)->next;
  hook->next = *last;
  *last = hook.release();
  return {record, number};
}

}  // namespace detail

KILN_INLINE void gradient_hook_handle::remove() {
  if (!record_) return;
  for (gradient_hook** at = &record_->hooks; *at; at = &(*at)->next)
    if ((*at)->number == number_) {
      const std::unique_ptr<gradient_hook> gone(*at);
      *at = gone->next;
      break;
    }
  record_ = nullptr;
}

}  // namespace kiln
