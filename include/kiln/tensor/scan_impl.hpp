// SPDX-License-Identifier: BSL-1.0
// The definitions of scan.hpp.
#pragma once

#include <kiln/tensor/scan.hpp>

namespace kiln::detail {

KILN_INLINE running_job running_job_of(const tensor_state& from, tensor_state& to, int axis) {
  running_job job;
  job.axis = axis;
  job.from = from.data;
  job.to = to.data;
  if (from.sizes.rank() == 0) {  // a line of one
    job.sizes = job.from_strides = job.to_strides = {1};
  } else {
    job.sizes = from.sizes;
    job.from_strides = from.strides;
    job.to_strides = to.strides;
  }
  return job;
}

KILN_INLINE void running_sum_node::run(const tensor_state& from, tensor_state& to, bool add) const {
  running_job job = running_job_of(from, to, axis_);
  job.backwards = !backwards_;
  job.add = add;
  functions_.run(job);
}
KILN_INLINE void running_sum_node::backward(const ref<tensor_state>& gradient) {
  const gradient_target to = target(0, *gradient->memory);
  run(*gradient, *to.tensor, to.add);
}
KILN_INLINE void running_sum_node::backward_recorded(const ref<tensor_state>& gradient, const ref<gradient_record>&) {
  const ref<tensor_state> out = device().new_tensor(gradient->type, gradient->sizes, *gradient->memory);
  run(*gradient, *out, false);
  if (gradient->autograd_metadata)
    set_producer(*out, new running_sum_node(axis_, !backwards_, gradient->autograd_metadata, functions_));
  the_recorder().add(*input[0], out, device());
}

KILN_INLINE running_product_gradient_job running_product_gradient_job_of(const void* x, const dims& x_strides,
                                                                         const tensor_state& gradient, tensor_state& to,
                                                                         int axis) {
  running_product_gradient_job job;
  job.axis = axis;
  job.from = x;
  job.gradient = gradient.data;
  job.to = to.data;
  if (gradient.sizes.rank() == 0) {
    job.sizes = job.from_strides = job.gradient_strides = job.to_strides = {1};
  } else {
    job.sizes = gradient.sizes;
    job.from_strides = x_strides;
    job.gradient_strides = gradient.strides;
    job.to_strides = to.strides;
  }
  return job;
}
KILN_INLINE void running_product_node::backward(const ref<tensor_state>& gradient) {
  check_saved(*gradient->memory);
  const gradient_target to = target(0, *gradient->memory);
  running_product_gradient_job job =
      running_product_gradient_job_of(saved[0].data, saved[0].strides, *gradient, *to.tensor, axis_);
  job.add = to.add;
  functions_.product_gradient(job);
}

}  // namespace kiln::detail
