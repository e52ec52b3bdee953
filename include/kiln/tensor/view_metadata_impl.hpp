// SPDX-License-Identifier: BSL-1.0
// The definitions of view_metadata.hpp.
#pragma once

#include <cstdint>
#include <utility>

#include <kiln/core/lock.hpp>
#include <kiln/tensor/op_node.hpp>
#include <kiln/tensor/recorder.hpp>
#include <kiln/tensor/view_metadata.hpp>

namespace kiln::detail {

/// Copies elements between a contiguous gradient and a part of it, or adds them.
class gradient_part {
 public:
  gradient_part(const layout& where, const runnable* add) : where_(where), add_(add) {}

  const layout& where() const { return where_; }
  const dims& sizes() const { return where_.sizes; }
  const runnable* how() const { return add_; }
  /// Whether the part is all of a gradient of these sizes, in its order.
  bool is_whole(const dims& sizes) const {
    return count(where_.sizes) == count(sizes) && where_.strides == contiguous_strides(where_.sizes);
  }
  /// Takes `part` to its place.
  void put(const tensor_state& part, tensor_state& whole, bool add) const {
    run(part.data, part.strides, part.type, place(whole), where_.strides, whole, add);
  }
  /// Takes the part out.
  void get(const tensor_state& whole, tensor_state& part, bool add) const {
    run(place(whole), where_.strides, whole.type, part.data, part.strides, part, add);
  }
  /// Sets the part to zero.
  void clear(tensor_state& whole) const {
    const ref<tensor_state> zero = add_->device->zeros(whole.type, {}, *whole.memory);
    run(zero->data, dims::filled(where_.sizes.rank(), 0), whole.type, place(whole), where_.strides, whole, false);
  }

 private:
  void* place(const tensor_state& whole) const {
    return static_cast<char*>(whole.data) + where_.offset * static_cast<std::int64_t>(size_of(whole.type));
  }
  void run(void* from, const dims& from_strides, dtype from_type, void* to, const dims& to_strides,
           const tensor_state& result, bool add) const {
    if (count(where_.sizes) == 0) return;
    common::operand_view in{from, from_strides, size_of(from_type)};
    common::result_view out{to, to_strides, result.type, add};
    common::task job{.program = &add_->program(), .domain = where_.sizes, .in = &in, .out = &out};
    add_->run(job, *result.memory);
  }

  layout where_;
  const runnable* add_;
};

/// The same elements in other sizes, both contiguous.
KILN_INLINE ref<tensor_state> reshaped_gradient(const ref<tensor_state>& gradient, const dims& sizes) {
  ref<tensor_state> made = new_state(gradient->type, sizes, contiguous_strides(sizes));
  made->data = gradient->data;
  made->memory = gradient->memory;
  return made;
}

/// Adds the gradient of a view to that of its base. A view that was made of another view knows a way through that one
/// as well: a pass that is asked for the gradient of what lies between takes it.
class view_node final : public op_node_of<1> {
 public:
  /// How many views a way leads through at most; nodes hold each other along it.
  static constexpr int longest_way = 32;
  view_node(ref<gradient_record> base, const layout& where, const runnable* add)
      : op_node_of(*add->device), part_(where, add) {
    input[0] = std::move(base);
    stay_walkable();
  }
  ~view_node() override { delete between_; }

  void backward(const ref<tensor_state>& gradient) override {
    const bool through = running_pass && running_pass->goes_through(*this);
    add_to(through ? between_->record : input[0], through ? between_->part : part_, gradient);
  }
  [[gnu::cold]] void backward_recorded(const ref<tensor_state>& gradient, const ref<gradient_record>&) override {
    const bool through = running_pass && running_pass->goes_through(*this);
    const ref<gradient_record>& to = through ? between_->record : input[0];
    if (!wants_gradient(to)) return;
    recorder& r = the_recorder();
    r.add(*to, r.place(gradient, (through ? between_->part : part_).where(), to->sizes, device()), device());
  }

  /// The view between lies behind `record`; this one lies in it at `where`.
  void lead_through(const ref<gradient_record>& record, const layout& where) {
    const auto* const before = dynamic_cast<const view_node*>(record->producer.get());
    const int steps = before && before->between_ ? before->between_->steps + 1 : 1;
    if (steps <= longest_way) between_ = new way{record, gradient_part(where, part_.how()), steps};
  }
  const ref<gradient_record>* between() const override { return between_ ? &between_->record : nullptr; }

 private:
  struct way {
    ref<gradient_record> record;
    gradient_part part;
    int steps;
  };
  void add_to(const ref<gradient_record>& to, const gradient_part& part, const ref<tensor_state>& gradient) const {
    if (!wants_gradient(to)) return;
    gradient_record& base = *to;
    // A view repeats elements only if it has more of them (look_at_base), so as many means each of them once.
    const bool all = count(part.sizes()) == count(base.sizes);
    ref<tensor_state>& so_far = arriving_gradient(base);
    if (!so_far && part.is_whole(base.sizes) && gradient.unique() && gradient->memory.unique()) {
      so_far = reshaped_gradient(gradient, base.sizes);
      return;
    }
    gradient_target into(base, device(), *gradient->memory);
    if (!all) into.added(device());
    part.put(*gradient, *into.tensor, into.add);
  }

  gradient_part part_;
  way* between_ = nullptr;  // owned
};

/// A tensor of which a part was overwritten: what lay there gets no gradient any more, the new part gets it.
class overwritten_part_node final : public op_node_of<2> {
 public:
  overwritten_part_node(ref<gradient_record> before, ref<gradient_record> part, const layout& where,
                        const runnable* add)
      : op_node_of(*add->device), part_(where, add) {
    input[0] = std::move(before);
    input[1] = std::move(part);
    stay_walkable();
  }

  void backward(const ref<tensor_state>& gradient) override {
    if (wants(1)) {
      const gradient_target into = target(1, *gradient->memory);
      part_.get(*gradient, *into.tensor, into.add);
    }
    if (!wants(0)) return;
    ref<tensor_state>& so_far = arriving_gradient(*input[0]);
    if (!so_far && gradient.unique() && gradient->memory.unique()) {
      part_.clear(*gradient);
      so_far = gradient;
      return;
    }
    const ref<tensor_state> rest = without_part(*gradient);
    if (!so_far) {
      so_far = rest;
    } else {
      const gradient_target into = target(0, *gradient->memory);
      all_of(*gradient).get(*rest, *into.tensor, true);
    }
  }
  [[gnu::cold]] void backward_recorded(const ref<tensor_state>& gradient, const ref<gradient_record>&) override {
    recorder& r = the_recorder();
    if (wants(1)) r.add(*input[1], r.copy(r.view(gradient, part_.where(), device()), device()), device());
    if (!wants(0)) return;
    const ref<tensor_state> rest = without_part(*gradient);
    if (gradient->autograd_metadata)
      set_producer(*rest, new overwritten_part_node(gradient->autograd_metadata, nullptr, part_.where(), part_.how()));
    r.add(*input[0], rest, device());
  }

 private:
  gradient_part all_of(const tensor_state& gradient) const {
    return {{gradient.sizes, contiguous_strides(gradient.sizes), 0}, part_.how()};
  }
  ref<tensor_state> without_part(const tensor_state& gradient) const {
    ref<tensor_state> rest = device().new_tensor(gradient.type, gradient.sizes, *gradient.memory);
    all_of(gradient).get(gradient, *rest, false);
    part_.clear(*rest);
    return rest;
  }

  gradient_part part_;
};

// Histories of views are made while others read them: `row * 2` on two threads.
KILN_INLINE short_lock& metadata_lock() {
  static constinit short_lock lock;
  return lock;
}

KILN_INLINE ref<gradient_record> view_record(const view_state& v) {
  ref<gradient_record> made = new_record(v.type, v.sizes);
  made->producer = ref<graph_node>::adopt(new view_node(v.base->autograd_metadata, v.where, v.add));
  return made;
}

// The history of a view, which is none if its base has none.
KILN_INLINE ref<gradient_record> history_of(const view_state& v) {
  const gradient_record* const base = v.base->autograd_metadata.get();
  return base ? base->functions->of_view(v) : nullptr;
}

// Sets what a view looks at, and where it lies there. A view of a view looks at the same base, except that
//  - a leaf has a history of its own,
//  - repeated elements are added up where they were repeated, in a contiguous tensor,
//  - a base that is not contiguous may not allow what the strides of a view of it do.
KILN_INLINE void look_at_base(view_state& v, const ref<tensor_state>& of, const layout_change& change) {
  const auto repeats = [](const dims& sizes, const dims& strides) {
    for (int i = 0; i < sizes.rank(); ++i)
      if (strides[i] == 0 && sizes[i] > 1) return true;
    return false;
  };
  const auto is_leaf = [](const tensor_state& t) { return t.autograd_metadata && t.autograd_metadata->leaf; };
  v.base = of;
  if (!repeats(v.sizes, v.strides)) {
    while (v.base->is_view && !is_leaf(*v.base)) v.base = ref<tensor_state>(static_cast<view_state&>(*v.base).base);
    if (v.base->in_memory) {  // contiguous: the places are the same
      const std::int64_t bytes = static_cast<const char*>(v.data) - static_cast<const char*>(v.base->data);
      v.where = {v.sizes, v.strides, bytes / static_cast<std::int64_t>(size_of(v.type))};
      return;
    }
    if (of->is_view && !is_leaf(*of)) {
      const view_state& between = static_cast<const view_state&>(*of);
      try {
        v.where = change(between.where);
        v.base = between.base;
        if (!repeats(v.where.sizes, v.where.strides)) return;
      } catch (const shape_error&) {
      }
    }
    v.base = of;
  }
  v.where = change({of->sizes, contiguous_strides(of->sizes), 0});
}

KILN_INLINE void lead_through(const view_state& v, const tensor_state& of, const layout_change& change) {
  try {
    static_cast<view_node&>(*v.autograd_metadata->producer)
        .lead_through(of.autograd_metadata, change({of.sizes, contiguous_strides(of.sizes), 0}));
  } catch (const shape_error&) {  // strides allowed the change that a contiguous tensor does not
  }
}

// The base's elements lie elsewhere than when the view was made: an optimizer has moved them.
[[gnu::cold]] KILN_INLINE void show_moved_base(view_state& v) {
  if (!v.base->contiguous)
    throw graph_error(message("a view of shape ", v.sizes,
                              " repeats elements of a tensor that has since been moved into the flat buffer of an "
                              "optimizer: make the view again"));
  const locked own(metadata_lock());
  if (v.memory == v.base->memory) return;
  v.data = static_cast<char*>(v.base->data) + v.where.offset * static_cast<std::int64_t>(size_of(v.type));
  v.strides = v.where.strides;
  v.contiguous = is_contiguous(v.sizes, v.strides);
  v.memory = v.base->memory;
}

KILN_INLINE void renew_history(view_state& v) {
  if (v.base->is_view) follow_base(*v.base);
  if (!(v.memory == v.base->memory)) show_moved_base(v);
  if (v.made_after.load(std::memory_order_acquire) == v.base->histories.load(std::memory_order_acquire)) return;
  ref<gradient_record> before;  // ends when the lock is free again
  const locked own(metadata_lock());
  const std::uint32_t now = v.base->histories.load(std::memory_order_relaxed);
  if (v.made_after.load(std::memory_order_relaxed) == now) return;
  if (!(v.autograd_metadata && v.autograd_metadata->leaf)) {
    before = std::exchange(v.autograd_metadata, history_of(v));
    v.histories.store(v.histories.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  v.made_after.store(now, std::memory_order_release);
}

KILN_INLINE ref<tensor_state> new_view(const ref<tensor_state>& of, const runnable* add, const layout_change& change) {
  const layout shown = change(layout{of->sizes, of->strides, 0});
  const auto fill = [&](tensor_state& state) {
    state.type = of->type;
    state.contiguous = is_contiguous(shown.sizes, shown.strides);
    state.sizes = shown.sizes;
    state.strides = shown.strides;
    state.data = static_cast<char*>(of->data) + shown.offset * static_cast<std::int64_t>(size_of(of->type));
    state.memory = of->memory;
  };
  if (!add || !grad_enabled() || of->made_without_grad) {
    ref<tensor_state> made = ref<tensor_state>::adopt(new (cpu::allocate(sizeof(tensor_state))) tensor_state);
    fill(*made);
    made->made_without_grad = add != nullptr;
    return made;
  }
  auto* const v = new (cpu::allocate(sizeof(view_state))) view_state;
  const auto made = ref<tensor_state>::adopt(v);
  v->is_view = true;
  fill(*v);
  v->add = add;
  const locked own(metadata_lock());
  look_at_base(*v, of, change);
  v->follow = &renew_history;
  v->autograd_metadata = history_of(*v);
  if (v->autograd_metadata && !v->autograd_metadata->leaf && of->is_view && v->base.get() != of.get() &&
      of->autograd_metadata && !of->autograd_metadata->leaf)
    of->autograd_metadata->functions->lead_through(*v, *of, change);
  v->made_after.store(v->base->histories.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return made;
}

KILN_INLINE void history_changed(tensor_state& target) {
  const locked own(metadata_lock());
  for (tensor_state* t = &target;;) {
    const auto now = [](tensor_state& of) { return of.histories.load(std::memory_order_relaxed) + 1; };
    t->histories.store(now(*t), std::memory_order_release);
    if (!t->is_view) return;
    auto& v = static_cast<view_state&>(*t);
    tensor_state& base = *v.base;
    ref<gradient_record> made = new_record(base.type, base.sizes);
    made->producer =
        ref<graph_node>::adopt(new overwritten_part_node(base.autograd_metadata, v.autograd_metadata, v.where, v.add));
    base.autograd_metadata = std::move(made);
    v.made_after.store(now(base), std::memory_order_release);
    t = &base;
  }
}

KILN_INLINE bool shows_leaf(const tensor_state& t) {
  if (!t.is_view || (t.autograd_metadata && t.autograd_metadata->leaf)) return false;
  const locked own(metadata_lock());  // other views of the base may be written by other threads
  for (const tensor_state* at = &t; at->is_view;) {
    at = static_cast<const view_state*>(at)->base.get();
    if (at->autograd_metadata && at->autograd_metadata->leaf) return true;
  }
  return false;
}

}  // namespace kiln::detail
