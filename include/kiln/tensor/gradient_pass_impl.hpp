// SPDX-License-Identifier: BSL-1.0
// The definitions of gradient_pass.hpp.
#pragma once

#include <algorithm>
#include <compare>
#include <utility>

#include <kiln/core/lock.hpp>
#include <kiln/tensor/gradient_pass.hpp>
#include <kiln/tensor/recorder.hpp>
#include <kiln/tensor/run_at_once.hpp>

namespace kiln::detail {

KILN_INLINE pass_memory* pass_memory::of_this_thread() {
  static constinit thread_local bool ended = false;  // trivial, so it can be read at any time of a thread's life
  struct kept_memory : pass_memory {
    ~kept_memory() { ended = true; }
  };
  if (ended) return nullptr;
  static thread_local kept_memory kept;
  return &kept;
}

// A pass that has delivered, or failed, writes into the home of a leaf no more.
KILN_INLINE void leave_home(gradient_record& leaf) {
  const locked alone(leaf.adding);
  leaf.home_taken.store(nullptr, std::memory_order_relaxed);
}

KILN_INLINE gradient_pass::gradient_pass(bool delivers)
    : outer_(std::exchange(running_pass, this)), delivers_(delivers) {
  if (pass_memory* const kept = pass_memory::of_this_thread()) own_ = std::move(kept->own);
  own_.clear();
}

KILN_INLINE gradient_pass::~gradient_pass() {
  running_pass = outer_;
  for (const ref<gradient_record>& r : own_) {
    if (r->home_taken.load(std::memory_order_relaxed) == this) leave_home(*r);
    r->slot = {};
    r->pass.store(nullptr, std::memory_order_release);
  }
  own_.clear();
  for (other_place* place : others_) delete place;
  while (then_) delete std::exchange(then_, then_->next);
  pass_memory* const kept = pass_memory::of_this_thread();
  if (kept && own_.capacity() > kept->own.capacity()) kept->own = std::move(own_);
}

KILN_INLINE pass_slot& gradient_pass::find_slot(gradient_record& record) {
  const auto before = [](const other_place* p, const gradient_record* r) {
    return std::compare_three_way()(static_cast<const gradient_record*>(p->record.get()), r) < 0;
  };
  const auto place = [&] { return std::lower_bound(others_.begin(), others_.end(), &record, before); };
  if (!others_.empty())
    if (other_place** const at = place(); at != others_.end() && (*at)->record.get() == &record) return (*at)->slot;
  // Room first: what has been taken must be in a list.
  if (own_.size() == own_.capacity()) own_.reserve(2 * own_.size() + 8);
  gradient_pass* nobody = nullptr;
  if (single_threaded() ? record.pass.load(std::memory_order_relaxed) == nullptr
                        : record.pass.compare_exchange_strong(nobody, this, std::memory_order_acquire)) {
    record.pass.store(this, std::memory_order_relaxed);
    own_.push_back(ref<gradient_record>(&record));
    return record.slot;
  }
  if (others_.size() == others_.capacity()) others_.reserve(2 * others_.size() + 8);
  other_place* const made = new other_place{ref<gradient_record>(&record), {}};
  const auto in_order = static_cast<std::size_t>(place() - others_.begin());
  others_.push_back(made);
  for (std::size_t i = others_.size() - 1; i > in_order; --i) others_[i] = others_[i - 1];
  others_[in_order] = made;
  return made->slot;
}

KILN_INLINE void will_be_added_to(ref<tensor_state>& gradient) {
  ++gradient->memory->version;
  if (!gradient->autograd_metadata) return;
  const ref<tensor_state> with = std::move(gradient);
  gradient = new_state(with->type, with->sizes, with->strides);
  gradient->data = with->data;
  gradient->memory = with->memory;
}

// Copies or adds values to a gradient of the leaf.
KILN_INLINE void put_gradient(const gradient_record& leaf, tensor_state& value, tensor_state& sum, bool add) {
  const std::int64_t total = count(sum.sizes);
  if (total == 0) return;
  leaf.add->device->check_operand(*value.memory, *sum.memory);
  if (leaf.add->program().stores[0] == sum.type) {
    tensor_state* from = &value;
    if (run_at_once(*leaf.add, 1, {.leaf = &from}, sum, total, add)) return;
  }
  common::operand_view in{value.data, value.strides, size_of(value.type)};
  common::result_view out{sum.data, sum.strides, sum.type, add};
  common::task job{.program = &leaf.add->program(), .domain = sum.sizes, .in = &in, .out = &out};
  leaf.add->run(job, *sum.memory);
}

KILN_INLINE const ref<tensor_state>& home_to_write(gradient_record& leaf) {
  if (!leaf.home.unique()) {
    tensor_state& at = *leaf.home;
    ref<tensor_state> fresh = new_state(at.type, at.sizes, at.strides);
    fresh->data = at.data;
    fresh->memory = at.memory;
    const ref<tensor_state> apart = leaf.add->device->new_tensor(at.type, at.sizes, *at.memory);
    put_gradient(leaf, at, *apart, false);
    leaf.home->data = apart->data;
    leaf.home->memory = apart->memory;
    leaf.home = std::move(fresh);
  }
  ++leaf.home->memory->version;
  return leaf.home;
}

KILN_INLINE ref<tensor_state> taken_home(gradient_record& leaf) {
  // Who owns the slot is the only one to write there. (What another pass collects meanwhile is added when it delivers.)
  gradient_pass* const now = running_pass;
  if (!now || !now->delivers() || grad_enabled() || leaf.unwanted.load(std::memory_order_relaxed) ||
      leaf.pass.load(std::memory_order_relaxed) != now)
    return nullptr;
  const locked alone(leaf.adding);
  if (!leaf.home || leaf.gradient || leaf.home_taken.load(std::memory_order_relaxed)) return nullptr;
  const ref<tensor_state>& home = home_to_write(leaf);
  leaf.home_taken.store(now, std::memory_order_relaxed);
  return home;
}

KILN_INLINE void add_to_leaf(gradient_record& leaf, ref<tensor_state> value, const gradient_pass* by) {
  const locked alone(leaf.adding);
  if (leaf.unwanted.load(std::memory_order_relaxed)) return;
  if (leaf.home && !grad_enabled()) {
    const ref<tensor_state>& home = leaf.home;
    const gradient_pass* const taken = leaf.home_taken.load(std::memory_order_relaxed);
    const bool here = value->data == home->data, free = !taken || taken == by;
    if (here && free) {  // another pass may have delivered meanwhile, which then was no gradient of the home's
      if (leaf.gradient) put_gradient(leaf, *leaf.gradient, *home, true);
      leaf.gradient = home;
      return;
    }
    if (!leaf.gradient && free) {
      put_gradient(leaf, *value, *home_to_write(leaf), false);
      leaf.gradient = home;
      return;
    }
  }
  if (!leaf.gradient) {
    leaf.gradient = std::move(value);
    return;
  }
  if (grad_enabled()) {  // the pass is recorded, and so is this
    gradient_pass* const running = std::exchange(running_pass, nullptr);
    try {
      the_recorder().add(leaf, value, *leaf.add->device);
    } catch (...) {
      running_pass = running;
      throw;
    }
    running_pass = running;
    return;
  }
  will_be_added_to(leaf.gradient);
  put_gradient(leaf, *value, *leaf.gradient, true);
}

KILN_INLINE void gradient_pass::deliver() {
  for (const ref<gradient_record>& r : own_)
    if (r->leaf && r->slot.gradient) add_to_leaf(*r, std::exchange(r->slot.gradient, nullptr), this);
  for (other_place* place : others_)
    if (place->record->leaf && place->slot.gradient)
      add_to_leaf(*place->record, std::exchange(place->slot.gradient, nullptr), this);
  for (after_delivery* what = then_; what; what = what->next) what->delivered();
}

}  // namespace kiln::detail
