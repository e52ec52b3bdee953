// SPDX-License-Identifier: BSL-1.0
// Pinned memory for a DataLoader's batches, from which copies to a GPU run beside the host: include it beside
// kiln/cuda.hpp and say `.pin_memory = true`.
#pragma once

#include <cstddef>
#include <cstring>

#include <kiln/data/pin_memory.hpp>
#include <kiln/tensor/cuda.hpp>

namespace kiln::data::detail {

/// A contiguous copy of a contiguous tensor in pinned memory. Throws memory_error, device_error.
inline ref<tensor_state> copied_to_pinned(const tensor_state& values) {
  ref<tensor_state> made = new_state(values.type, values.sizes, contiguous_strides(values.sizes));
  const std::size_t bytes = static_cast<std::size_t>(count(values.sizes)) * size_of(values.type);
  made->memory = cuda::new_pinned_storage(bytes);
  made->data = made->memory->data;
  if (bytes > 0) std::memcpy(made->data, values.data, bytes);
  return made;
}
inline const bool pinning_is_known = (pinned_copy = &copied_to_pinned, true);

}  // namespace kiln::data::detail
