// SPDX-License-Identifier: BSL-1.0
// What a node of the graph keeps of a tensor.
#pragma once

#include <cstdint>

#include <kiln/core/error.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

/// A tensor's value as a backward pass will need it, and a way to tell whether it still is that value.
struct saved_value {
  ref<storage> memory;
  std::uint32_t version = 0;
  void* data = nullptr;
  dims sizes, strides;
  dtype type = dtype::float32;
  bool contiguous = false;

  void save(const tensor_state& t) {
    memory = t.memory;
    version = t.memory->version;
    data = t.data;
    sizes.set(t.sizes);
    strides.set(t.strides);
    type = t.type;
    contiguous = t.contiguous;
  }
  void check() const {
    if (memory->version != version)
      throw graph_error(
          message("backward: a tensor of shape ", sizes, " was changed in place (", memory->version - version,
                  " times) after an expression that needs its old value was evaluated: clone() it before changing it"));
  }
};

}  // namespace kiln::detail
