// SPDX-License-Identifier: BSL-1.0
// Where a step of a backward pass puts the gradient of one of its inputs.
#pragma once

#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/gradient_pass.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

/// The gradient of a record, to be written or added to: `add` says which. It is made, near other memory, if it is not
/// there.
struct gradient_target {
  const ref<tensor_state>& tensor;  ///< where it arrives
  bool add = false;
  gradient_target(gradient_record& record, const device_functions& device, const storage& near)
      : gradient_target(arriving_gradient(record), record, device, near) {}
  /// For what can only add: zeros where nothing was.
  tensor_state& added(const device_functions& device) {
    if (!add) device.set_zero(*tensor);
    add = true;
    return *tensor;
  }

 private:
  gradient_target(ref<tensor_state>& gradient, gradient_record& record, const device_functions& device,
                  const storage& near)
      : tensor(gradient), add(static_cast<bool>(gradient)) {
    if (add)
      will_be_added_to(gradient);
    else if (!(record.has_home.load(std::memory_order_relaxed) && (gradient = taken_home(record))))
      gradient = device.new_tensor(record.type, record.sizes, near);
  }
};

}  // namespace kiln::detail
