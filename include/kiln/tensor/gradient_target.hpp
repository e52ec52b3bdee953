// SPDX-License-Identifier: BSL-1.0
// Where a step of a backward pass puts the gradient of one of its inputs.
#pragma once

#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

/// The gradient of a record, to be written or added to: `add` says which. It is made, near other memory, if it is not
/// there.
struct gradient_target {
  ref<tensor_state> tensor;
  bool add = false;
  gradient_target(gradient_record& record, const device_functions& device, const storage& near)
      : add(static_cast<bool>(record.gradient)) {
    if (!add)
      record.gradient = device.new_tensor(record.type, record.sizes, near);
    else
      ++record.gradient->memory->version;  // a graph may have been built on the gradient so far
    tensor = record.gradient;
  }
  /// For what can only add: zeros where nothing was.
  tensor_state& added(const device_functions& device) {
    if (!add) device.set_zero(*tensor);
    add = true;
    return *tensor;
  }
};

}  // namespace kiln::detail
