// SPDX-License-Identifier: BSL-1.0
// The definitions of views.hpp: how a view is made, and the node that takes its gradient to its base.
#pragma once

#include <cstdint>
#include <utility>

#include <kiln/tensor/views.hpp>

namespace kiln::detail {

/// Adds the gradient of a view to that of its base: `where` is the view of a contiguous tensor of the base's sizes.
class view_node final : public graph_node {
 public:
  view_node(const tensor_state& base, const layout& where, const runnable* add)
      : where_(where), add_(add), base_(base.history), memory_(base.memory), version_(base.memory->version) {
    inputs = &base_;
    input_count = 1;
  }

  void backward(const ref<tensor_state>& gradient) override {
    // A leaf stays the same parameter when it is updated; a computed tensor that is overwritten becomes another.
    if (!base_->leaf && memory_->version != version_)
      throw graph_error(message("backward: a tensor of shape ", base_->sizes,
                                " was changed in place after a view of shape ", where_.sizes,
                                " was taken of it: take the view again after the change, or clone() it before"));
    // A single change repeats elements only if it makes more of them, so as many means each of them once.
    const bool all = count(where_.sizes) == count(base_->sizes);
    if (all && !base_->gradient && where_.strides == contiguous_strides(where_.sizes) && gradient.unique() &&
        gradient->memory.unique()) {
      base_->gradient = new_state(gradient->type, base_->sizes, contiguous_strides(base_->sizes));
      base_->gradient->data = gradient->data;
      base_->gradient->memory = gradient->memory;
      return;
    }
    gradient_target target(*base_, *add_->device, *gradient->memory);
    if (!all) target.added(*add_->device);
    if (count(where_.sizes) == 0) return;
    tensor_state& to = *target.tensor;
    cpu::operand_view in{gradient->data, gradient->strides, size_of(gradient->type)};
    cpu::result_view out{static_cast<char*>(to.data) + where_.offset * static_cast<std::int64_t>(size_of(to.type)),
                         where_.strides, size_of(to.type), to.type, target.add};
    cpu::task job{.program = &add_->program(), .domain = where_.sizes, .in = &in, .out = &out};
    add_->run(job, *to.memory);
  }
  // There is nothing to free: like PyTorch's, views can be walked again.
  void release() override {}

 private:
  layout where_;
  const runnable* add_;
  ref<gradient_record> base_;
  ref<storage> memory_;
  std::uint32_t version_;
};

KILN_INLINE ref<tensor_state> make_view(const ref<tensor_state>& base, const runnable* add,
                                        const layout_change& change) {
  const layout l = change(layout{base->sizes, base->strides, 0});
  auto view = new_state(base->type, l.sizes, l.strides);
  view->data = static_cast<char*>(base->data) + l.offset * static_cast<std::int64_t>(size_of(base->type));
  view->memory = base->memory;
  if (base->history && grad_enabled()) {
    const layout where = change(layout{base->sizes, contiguous_strides(base->sizes), 0});
    view->history = new_record(base->type, l.sizes);
    view->history->view = true;
    view->history->producer = ref<graph_node>::adopt(new view_node(*base, where, add));
  }
  return view;
}

}  // namespace kiln::detail
