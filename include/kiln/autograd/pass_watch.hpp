// SPDX-License-Identifier: BSL-1.0
// Who looks on while a backward pass runs: hooks on gradients, the search for the first nan. Passes that nobody watches
// test two pointers.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>

#include <kiln/core/vector_of.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

class pass_watch {
 public:
  virtual ~pass_watch() = default;
  /// Before the first node.
  virtual void start(const ref<gradient_record>& root) = 0;
  /// The gradient of a tensor that was computed from others is complete: what goes on in its place.
  virtual ref<tensor_state> complete(gradient_record& record, const ref<tensor_state>& gradient) = 0;
  /// A node has added to the gradients of its inputs, or has nothing to add.
  virtual void done(const graph_node& node) = 0;
  /// After the last node.
  virtual void finish() = 0;
  /// The end of one that a pass made; called as a node's end is.
  virtual void end() noexcept { delete this; }
};
struct watch_end {
  void operator()(pass_watch* watch) const noexcept { call_virtual<&pass_watch::end>(*watch); }
};
using owned_watch = std::unique_ptr<pass_watch, watch_end>;

/// Makes what runs hooks; set once there is one.
inline constinit std::atomic<owned_watch (*)()> hook_watch{nullptr};
/// Set while this thread looks for nans.
inline thread_local pass_watch* anomaly_watch = nullptr;

/// The nodes behind a record, each once, the latest first. Nothing is noted in them: passes of other threads may be on
/// their way through the same graph. What a node was made from is older than the node, so that none comes too late.
/// `input(node, i)` is the record that the way from a node leads to.
template <class Input>
vector_of<graph_node*> nodes_behind(const ref<gradient_record>& root, Input input) {
  const auto earlier = [](const graph_node* a, const graph_node* b) { return a->order < b->order; };
  vector_of<graph_node*> found, ahead;  // a heap, in which a node may stand several times
  const auto visit = [&](const ref<gradient_record>& record) {
    if (!record || !record->producer) return;
    ahead.push_back(record->producer.get());
    std::push_heap(ahead.begin(), ahead.end(), earlier);
  };
  visit(root);
  while (!ahead.empty()) {
    std::pop_heap(ahead.begin(), ahead.end(), earlier);
    graph_node* const node = ahead.back();
    ahead.pop_back();
    if (!found.empty() && found.back() == node) continue;
    found.push_back(node);
    for (int i = 0; i < node->input_count; ++i) visit(input(*node, i));
  }
  return found;
}
inline vector_of<graph_node*> nodes_behind(const ref<gradient_record>& root) {
  return nodes_behind(root,
                      [](const graph_node& node, int i) -> const ref<gradient_record>& { return node.inputs[i]; });
}

}  // namespace kiln::detail
