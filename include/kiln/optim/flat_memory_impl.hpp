// SPDX-License-Identifier: BSL-1.0
// The definitions of flat_memory.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include <kiln/core/storage_part.hpp>
#include <kiln/optim/flat_memory.hpp>
#include <kiln/tensor/gradient_pass.hpp>
#include <kiln/tensor/run.hpp>

namespace kiln::optim::detail {

using kiln::detail::part_of;
using kiln::detail::whole_of;

KILN_INLINE flat_layout::flat_layout(const std::vector<ref<tensor_state>>& tensors) {
  std::int64_t at = 0;
  begins.reserve(tensors.size() + 1);
  for (const ref<tensor_state>& t : tensors) {
    begins.push_back(at);
    const std::int64_t line = 64 / static_cast<std::int64_t>(size_of(t->type));
    at += (count(t->sizes) + line - 1) / line * line;
  }
  begins.push_back(at);
}

// Whether b lies `elements` elements behind a in the same block.
KILN_INLINE bool follows(const tensor_state& a, const tensor_state& b, std::int64_t elements) {
  return &whole_of(*a.memory) == &whole_of(*b.memory) && a.contiguous && b.contiguous &&
         static_cast<const char*>(a.data) + elements * static_cast<std::int64_t>(size_of(a.type)) ==
             static_cast<const char*>(b.data);
}

KILN_INLINE std::vector<index_run> runs_in_memory(const std::vector<ref<tensor_state>>& tensors,
                                                  const flat_layout& layout) {
  std::vector<index_run> runs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i]) continue;
    const int at = static_cast<int>(i);
    // What stands in a part of a block has padding behind it; memory of its own may have none.
    if (!runs.empty() && runs.back().last == at && &whole_of(*tensors[i]->memory) != tensors[i]->memory.get() &&
        follows(*tensors[i - 1], *tensors[i], layout.begins[i] - layout.begins[i - 1]))
      ++runs.back().last;
    else
      runs.push_back({at, at + 1});
  }
  return runs;
}

KILN_INLINE ref<tensor_state> joined(const ref<tensor_state>& first, std::int64_t elements) {
  ref<tensor_state> made = new_state(first->type, {elements}, {1});
  made->data = first->data;
  made->memory = ref<storage>(const_cast<storage*>(&whole_of(*first->memory)));
  return made;
}

KILN_INLINE flat_memory::flat_memory(std::vector<ref<tensor_state>> parameters, const kiln::detail::runnable& copy)
    : copy_(copy) {
  check(parameters);
  parameters_ = std::move(parameters);
  layout_ = flat_layout(parameters_);
  places_.resize(parameters_.size());
  if (lie_in_one_block(parameters_))
    values_ = joined(parameters_[0], layout_.total());
  else
    move_values();
  for (int i = 0; i < size(); ++i) places_[static_cast<std::size_t>(i)].values = parameter(i)->memory;
  make_homes();
}

KILN_INLINE void flat_memory::check(const std::vector<ref<tensor_state>>& parameters) const {
  if (parameters.empty())
    throw value_error("optimizer: there are no parameters: give the tensors to train, such as nn::parameters(net)");
  std::vector<std::pair<std::uintptr_t, std::size_t>> order;  // by the addresses of their first elements
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const tensor_state& t = *parameters[i];
    const auto refuse = [&](const auto& kind, const auto&... why) {
      throw std::remove_cvref_t<decltype(kind)>(
          message("optimizer: parameter ", i, ", of shape ", t.sizes, ", ", why...));
    };
    if (t.autograd_metadata && t.autograd_metadata->producer)
      refuse(graph_error(""), "was computed from others that require grad: give the tensors that it was computed from");
    if (t.is_view)
      refuse(value_error(""), "is a view of another tensor, from which it would part: give the other, or a clone()");
    copy_.device->check_operand(*t.memory, *parameters[0]->memory);
    order.emplace_back(kiln::detail::reached_bytes(t).begin, i);
  }
  std::sort(order.begin(), order.end());
  // Those with elements, in the order of their addresses: who shares any shares some with its neighbour.
  std::size_t before = parameters.size();
  for (const auto& [begin, i] : order) {
    if (before < parameters.size()) {
      if (parameters[before] == parameters[i])
        throw value_error(message("optimizer: parameter ", i, ", of shape ", parameters[i]->sizes, ", is parameter ",
                                  before, " once more: give each tensor once"));
      if (kiln::detail::reached_bytes(*parameters[before]).meets(kiln::detail::reached_bytes(*parameters[i])))
        throw value_error(message("optimizer: parameters ", std::min(before, i), " and ", std::max(before, i),
                                  " share elements, and a step would change them twice: give one of them, or a "
                                  "clone()"));
    }
    before = i;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (!parameters[i]->autograd_metadata && !parameters[i]->frozen)
      throw value_error(message("optimizer: parameter ", i, ", of shape ", parameters[i]->sizes,
                                ", does not require grad, so no step would ever change it: make it by "
                                "nn::parameter(...) or call requires_grad(); if it is to stay as it is, say so by "
                                "requires_grad(false) or nn::freeze()"));
}

KILN_INLINE char* flat_memory::address(const ref<tensor_state>& buffer, int i) const {
  return static_cast<char*>(buffer->data) +
         layout_.begins[static_cast<std::size_t>(i)] * static_cast<std::int64_t>(size_of(buffer->type));
}

KILN_INLINE std::size_t flat_memory::bytes_of(int i) const {
  return static_cast<std::size_t>(count(parameter(i)->sizes)) * size_of(parameter(i)->type);
}

KILN_INLINE bool flat_memory::lie_in_one_block(const std::vector<ref<tensor_state>>& tensors) const {
  const auto runs = runs_in_memory(tensors, layout_);
  if (runs.size() != 1 || runs[0].last - runs[0].first != size()) return false;
  // The block may hold others besides, but not less than the layout takes.
  const tensor_state& first = *tensors[0];
  const storage& whole = whole_of(*first.memory);
  return &whole != first.memory.get() &&
         static_cast<const char*>(first.data) + layout_.total() * static_cast<std::int64_t>(size_of(first.type)) <=
             static_cast<const char*>(whole.data) + whole.bytes;
}

KILN_INLINE void copy_elements(const kiln::detail::runnable& copy, const tensor_state& from, const tensor_state& to) {
  if (count(to.sizes) == 0) return;
  common::operand_view in{from.data, from.strides, size_of(from.type)};
  common::result_view out{to.data, to.strides, to.type, false};
  common::task job{.program = &copy.program(), .domain = to.sizes, .in = &in, .out = &out};
  copy.run(job, *to.memory);
}

KILN_INLINE void flat_memory::move_values() {
  const tensor_state& first = *parameters_[0];
  values_ = copy_.device->zeros(first.type, {layout_.total()}, *first.memory);
  // Copies first, then what cannot fail: a parameter is never half moved.
  std::vector<ref<tensor_state>> moved;
  for (int i = 0; i < size(); ++i) {
    tensor_state& t = *parameter(i);
    moved.push_back(new_state(t.type, t.sizes, contiguous_strides(t.sizes)));
    moved.back()->data = address(values_, i);
    moved.back()->memory =
        part_of(values_->memory, moved.back()->data, bytes_of(i), t.in_memory ? t.memory : ref<storage>());
    moved.back()->memory->version.continue_from(t.memory->version);
    copy_elements(copy_, t, *moved.back());
  }
  for (int i = 0; i < size(); ++i) {
    tensor_state& t = *parameter(i);
    const tensor_state& to = *moved[static_cast<std::size_t>(i)];
    // The block in which the handle's state stands stays, but not with its elements if nobody else reads them.
    if (t.in_memory && t.memory->references.load(std::memory_order_acquire) == 2) cpu::release_data(*t.memory);
    t.strides = to.strides;
    t.contiguous = true;
    t.data = to.data;
    t.memory = to.memory;
  }
}

KILN_INLINE void flat_memory::make_homes() {
  std::vector<ref<tensor_state>> homes;
  for (const ref<tensor_state>& p : parameters_)
    homes.push_back(p->autograd_metadata ? p->autograd_metadata->home : ref<tensor_state>());
  const bool shared = lie_in_one_block(homes);
  if (shared)
    gradients_ = joined(homes[0], layout_.total());
  else
    gradients_ = copy_.device->zeros(values_->type, {layout_.total()}, *values_->memory);
  for (int i = 0; i < size(); ++i) {
    ref<storage>& memory = places_[static_cast<std::size_t>(i)].gradient;
    memory = shared ? homes[static_cast<std::size_t>(i)]->memory
                    : part_of(gradients_->memory, address(gradients_, i), bytes_of(i));
    if (parameter(i)->autograd_metadata) bring_home(i);
  }
}

KILN_INLINE void flat_memory::bring_home(int i) {
  const tensor_state& t = *parameter(i);
  gradient_record& record = *t.autograd_metadata;
  if (!is_at_home(i, record.home)) {
    record.home = new_state(t.type, t.sizes, contiguous_strides(t.sizes));
    record.home->data = address(gradients_, i);
    record.home->memory = places_[static_cast<std::size_t>(i)].gradient;
    record.has_home.store(true, std::memory_order_relaxed);
  }
  if (!record.gradient || record.gradient == record.home) return;
  copy_elements(copy_, *record.gradient, *kiln::detail::home_to_write(record));
  record.gradient = record.home;
}

KILN_INLINE int flat_memory::index_of(const tensor_state& tensor) const {
  for (int i = 0; i < size(); ++i)
    if (parameter(i).get() == &tensor) return i;
  return -1;
}

KILN_INLINE void flat_memory::gather(const char* where) {
  for (int i = 0; i < size(); ++i) {
    const tensor_state& t = *parameter(i);
    const place& expected = places_[static_cast<std::size_t>(i)];
    if (!(t.memory == expected.values))
      throw value_error(message(where, ": parameter ", i, ", of shape ", t.sizes,
                                ", has been moved out of this optimizer's flat buffer, into that of another one: use "
                                "one optimizer for a tensor, or give all of them the same list of parameters"));
    if (t.references.load(std::memory_order_relaxed) == 1)
      throw value_error(message(where, ": nobody but the optimizer has parameter ", i, ", of shape ", t.sizes,
                                ", any more: its variable was given another tensor (w = ...), which the optimizer does "
                                "not know: write in place (w -= ..., w.copy_(...)), or make the optimizer anew"));
    if (!t.autograd_metadata) continue;
    const gradient_record& record = *t.autograd_metadata;
    if (!is_at_home(i, record.home) || (record.gradient && !(record.gradient == record.home))) bring_home(i);
  }
}

KILN_INLINE void flat_memory::values_changed(index_run of) {
  for (int i = of.first; i < of.last; ++i) ++parameter(i)->memory->version;
}
KILN_INLINE void flat_memory::gradients_changed(index_run of) {
  for (int i = of.first; i < of.last; ++i) ++places_[static_cast<std::size_t>(i)].gradient->version;
}

KILN_INLINE void flat_memory::zero_gradients(bool set_to_none) {
  if (!set_to_none) {
    gather("zero_grad");
    copy_.device->set_zero(*gradients_);
    return gradients_changed({0, size()});
  }
  for (int i = 0; i < size(); ++i)
    if (const tensor_state& t = *parameter(i); t.autograd_metadata) {
      t.autograd_metadata->gradient = nullptr;
      bring_home(i);
    }
}

}  // namespace kiln::optim::detail
