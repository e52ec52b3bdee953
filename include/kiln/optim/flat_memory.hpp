// SPDX-License-Identifier: BSL-1.0
// The parameters of a group in one block of memory, and their gradients in another, so that what an optimizer does to
// them is one kernel over all. None of it depends on the element type: flat_parameters.hpp adds that.
#pragma once

#include <cstdint>
#include <vector>

#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::optim::detail {

/// Where tensors lie that stand one behind the other: each begins at a multiple of 64 bytes, and what is between them
/// is zero.
struct flat_layout {
  std::vector<std::int64_t> begins;  ///< in elements; one more than there are tensors
  flat_layout() = default;
  [[gnu::cold]] explicit flat_layout(const std::vector<ref<tensor_state>>& tensors);
  std::int64_t total() const { return begins.back(); }
};

/// Tensors [first, last) of a list.
struct index_run {
  int first, last;
};

/// Runs of tensors, as long as can be, that lie behind each other in memory as the layout says; empty references are in
/// no run.
std::vector<index_run> runs_in_memory(const std::vector<ref<tensor_state>>& tensors, const flat_layout& layout);

/// The elements of tensors that lie behind each other, from `first` to `last`, as one 1-D tensor.
ref<tensor_state> joined(const ref<tensor_state>& first, std::int64_t elements);

/// What moves parameters into one block. Every handle of a parameter sees it there, and every view made while gradients
/// were recorded; what detach() gave before keeps the old memory.
class flat_memory {
 public:
  /// `copy` copies tensors of their type. Parameters that lie in one block in this order already stay there, and share
  /// it with whoever moved them. Throws value_error for no parameters, for one given twice, for views, tensors that
  /// share elements, and those that do not require grad and were not frozen, graph_error for tensors that were computed
  /// from others that require grad, device_error for several devices.
  [[gnu::cold]] flat_memory(std::vector<ref<tensor_state>> parameters, const kiln::detail::runnable& copy);

  int size() const { return static_cast<int>(parameters_.size()); }
  const flat_layout& layout() const { return layout_; }
  const ref<tensor_state>& parameter(int i) const { return parameters_[static_cast<std::size_t>(i)]; }
  const std::vector<ref<tensor_state>>& parameters() const { return parameters_; }
  /// The place of a tensor in the list, -1 if it is not there.
  int index_of(const tensor_state& tensor) const;
  /// Whether backward passes have left a gradient.
  bool has_gradient(int i) const {
    const tensor_state& t = *parameter(i);
    return t.autograd_metadata && t.autograd_metadata->gradient;
  }

  /// Before the buffers are used: throws value_error if a parameter has been moved into the buffer of another
  /// optimizer, or if nobody but this has it any more. Gradients that came to lie elsewhere are copied home.
  void gather(const char* where);
  /// Of all parameters, or of [first, last), 1-D.
  const ref<tensor_state>& values() const { return values_; }
  const ref<tensor_state>& gradients() const { return gradients_; }
  /// After a kernel has written values through the buffer: expressions and graphs that want the old ones will know.
  void values_changed(index_run of);
  void gradients_changed(index_run of);
  /// The count of a parameter's changes in place.
  std::uint32_t version(int i) const { return parameter(i)->memory->version; }
  /// Forgets all gradients, which costs nothing; or sets those there are to zero, by one fill.
  void zero_gradients(bool set_to_none);

 private:
  struct place {
    ref<storage> values, gradient;  ///< parts of the buffers' memory
  };
  [[gnu::cold]] void check(const std::vector<ref<tensor_state>>& parameters) const;
  bool lie_in_one_block(const std::vector<ref<tensor_state>>& tensors) const;
  [[gnu::cold]] void move_values();
  [[gnu::cold]] void make_homes();
  void bring_home(int i);
  bool is_at_home(int i, const ref<tensor_state>& gradient) const {
    return gradient && gradient->memory == places_[static_cast<std::size_t>(i)].gradient;
  }
  char* address(const ref<tensor_state>& buffer, int i) const;
  std::size_t bytes_of(int i) const;

  std::vector<ref<tensor_state>> parameters_;
  std::vector<place> places_;
  flat_layout layout_;
  const kiln::detail::runnable& copy_;
  ref<tensor_state> values_, gradients_;
};

}  // namespace kiln::optim::detail

#ifndef KILN_COMPILED
#include <kiln/optim/flat_memory_impl.hpp>
#endif
