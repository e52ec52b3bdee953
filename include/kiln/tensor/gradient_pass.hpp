// SPDX-License-Identifier: BSL-1.0
// What one backward pass collects. Leaves get it when the pass has succeeded, so a pass that fails leaves no trace, and
// passes of several threads through shared records do not meet but there.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include <kiln/core/single_threaded.hpp>
#include <kiln/core/vector_of.hpp>
#include <kiln/core/version.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

class gradient_pass;
/// The innermost pass that runs on this thread.
inline constinit thread_local gradient_pass* running_pass = nullptr;

/// What is to be done when leaves have what a pass collected. Of a pass that fails it ends without a call.
struct after_delivery {
  after_delivery* next = nullptr;
  virtual ~after_delivery() = default;
  virtual void delivered() = 0;
};

/// Collects gradients by record while it lives. What was not delivered is dropped.
class gradient_pass {
 public:
  explicit gradient_pass(bool delivers = true);
  gradient_pass(const gradient_pass&) = delete;
  gradient_pass& operator=(const gradient_pass&) = delete;
  ~gradient_pass();

  /// The place of a record in this pass; stays where it is while the pass runs.
  pass_slot& slot(gradient_record& record) {
    return record.pass.load(std::memory_order_relaxed) == this ? record.slot : find_slot(record);
  }
  /// Leaves a record out, with all that only it leads to.
  void skip(gradient_record& record) {
    slot(record).skipped = true;
    skips_any_ = true;
  }
  /// Whether the pass asks for the gradient of a record.
  bool wants(gradient_record& record) {
    return !record.unwanted.load(std::memory_order_relaxed) && !(skips_any_ && slot(record).skipped);
  }
  /// Takes the way of a view through the view that it was made of.
  void go_through(graph_node& view) { through_.push_back(ref<graph_node>(&view)); }
  bool goes_through(const graph_node& view) const {
    return std::any_of(through_.begin(), through_.end(), [&](const auto& one) { return one.get() == &view; });
  }
  /// Adds what was collected to the gradients of leaves, and does what was to follow.
  void deliver();
  /// Whether it runs within a step of another pass, as that of a checkpoint does.
  bool is_inner() const { return outer_ != nullptr; }
  /// Does something when the outermost of the passes that now run on this thread has delivered.
  void then(std::unique_ptr<after_delivery> what) {
    gradient_pass* outermost = this;
    while (outermost->outer_) outermost = outermost->outer_;
    after_delivery** last = &outermost->then_;
    while (*last) last = &(*last)->next;
    *last = what.release();
  }
  /// Whether that is what the pass is for; else leaves are to stay as they are.
  bool delivers() const { return delivers_; }

 private:
  /// The place of a record that another pass has taken.
  struct other_place {
    ref<gradient_record> record;
    pass_slot slot;
  };
  pass_slot& find_slot(gradient_record& record);

  gradient_pass* const outer_;
  const bool delivers_;
  bool skips_any_ = false;
  vector_of<ref<graph_node>> through_;  // held, so that no other node comes to stand in the place of one
  vector_of<ref<gradient_record>> own_;
  vector_of<other_place*> others_;  // in the order of their records' addresses
  after_delivery* then_ = nullptr;  // owned, with those that follow
};

/// Where the gradient of a record arrives: in the running pass, or, if there is none, the record itself.
inline ref<tensor_state>& arriving_gradient(gradient_record& record) {
  return running_pass ? running_pass->slot(record).gradient : record.gradient;
}

/// Whether a step of the running pass is to make the gradient of a record, which may be empty.
inline bool wants_gradient(const ref<gradient_record>& record) {
  return record && (running_pass ? running_pass->wants(*record) : !record->unwanted.load(std::memory_order_relaxed));
}

/// Before values are added to a gradient in place: a graph may have been built on it, and what is added now is in no
/// history that it has.
void will_be_added_to(ref<tensor_state>& gradient);

/// The home of a leaf that has no gradient, before it is written to. Whoever keeps an earlier gradient, which was
/// there, keeps its values: they move elsewhere.
const ref<tensor_state>& home_to_write(gradient_record& leaf);

/// The home of a leaf's gradient for the running pass to write to, so that nothing has to be copied there; null if it
/// is not free: the leaf has a gradient, another pass writes there, or this one may not change the leaf.
ref<tensor_state> taken_home(gradient_record& leaf);

/// Adds to the gradient of a leaf, or makes it `value`; `by` is the pass that collected it. Several threads may do so.
/// While this thread records, the sum has a history; else what is the first gradient of a leaf with a home goes there.
void add_to_leaf(gradient_record& leaf, ref<tensor_state> value, const gradient_pass* by = nullptr);

/// Memory of a thread's last pass for its next one, so that passes do not allocate.
struct pass_memory {
  vector_of<ref<gradient_record>> queue, own;
  /// Null when the thread ends and its memory has gone.
  static pass_memory* of_this_thread();
};

}  // namespace kiln::detail

#ifndef KILN_COMPILED
#include <kiln/tensor/gradient_pass_impl.hpp>
#endif
