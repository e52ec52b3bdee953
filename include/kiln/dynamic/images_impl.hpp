// SPDX-License-Identifier: BSL-1.0
// The definitions of images.hpp.
#pragma once

#include <kiln/dynamic/images.hpp>
#include <kiln/dynamic/images_on.hpp>

namespace kiln::dynamic {

KILN_INLINE tensor conv2d(const tensor& x, const tensor& weight, const tensor& bias, const conv2d_options& how) {
  graph::check_together("conv2d", x, weight);
  if (bias.defined()) graph::check_together("conv2d", x, bias);
  return x.device().on_host() ? graph::conv2d_on<Cpu>(x, weight, bias, how)
                              : graph::cuda_driver().conv2d(x, weight, bias, how);
}
KILN_INLINE tensor max_pool2d(const tensor& x, pair2d kernel, const max_pool2d_options& how) {
  return x.device().on_host() ? graph::max_pool2d_on<Cpu>(x, kernel, how)
                              : graph::cuda_driver().max_pool2d(x, kernel, how);
}
KILN_INLINE tensor avg_pool2d(const tensor& x, pair2d kernel, const avg_pool2d_options& how) {
  return x.device().on_host() ? graph::avg_pool2d_on<Cpu>(x, kernel, how)
                              : graph::cuda_driver().avg_pool2d(x, kernel, how);
}
KILN_INLINE tensor batch_norm(const tensor& x, const tensor& running_mean, const tensor& running_var,
                              const tensor& weight, const tensor& bias, const batch_norm_options& how) {
  for (const tensor* const each : {&running_mean, &running_var, &weight, &bias})
    if (each->defined()) graph::check_together("batch_norm", x, *each);
  return x.device().on_host() ? graph::batch_norm_on<Cpu>(x, running_mean, running_var, weight, bias, how)
                              : graph::cuda_driver().batch_norm(x, running_mean, running_var, weight, bias, how);
}
KILN_INLINE tensor dropout(const tensor& x, double p, bool training, generator& from) {
  if (!training && p >= 0 && p <= 1) return x;
  return x.device().on_host() ? graph::dropout_on<Cpu>(x, p, training, from)
                              : graph::cuda_driver().dropout(x, p, training, from);
}

}  // namespace kiln::dynamic
