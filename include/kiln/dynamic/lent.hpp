// SPDX-License-Identifier: BSL-1.0
// Tensors that look at memory of somebody else, who must not see it changed.
#pragma once

#include <kiln/dynamic/lent_memory.hpp>
#include <kiln/dynamic/tensor.hpp>

namespace kiln::dynamic {

/// Elements in row-major order that stay where they are: no copy. assign_, fill_ and requires_grad_ refuse such a
/// tensor and views of it with value_error, and nobody may write through as<T>(). `give_back(owner)` is called when
/// nothing reads the memory any more.
inline tensor lent(dtype type, const dims& sizes, const void* data, void* owner,
                   void (*give_back)(void* owner) noexcept) {
  ref<tensor_state> state = new_state(type, sizes, contiguous_strides(sizes));
  auto* const block = new storage;
  block->owner = new graph::lender{owner, give_back};
  block->release = &graph::release_lent;
  block->foreign = true;
  block->data = state->data = const_cast<void*>(data);
  block->bytes = static_cast<std::size_t>(count(sizes)) * size_of(type);
  state->memory = ref<storage>::adopt(block);
  return tensor::of(std::move(state));
}

/// Whether a tensor has a value that lies in lent memory.
inline bool is_lent(const tensor& t) {
  return t.defined() && t.cell()->is == graph::form::value && graph::is_lent(*t.cell()->value);
}

}  // namespace kiln::dynamic
