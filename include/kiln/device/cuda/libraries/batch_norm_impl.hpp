// SPDX-License-Identifier: BSL-1.0
// The definitions of batch_norm.hpp.
#pragma once

#include <kiln/device/cuda/libraries/batch_norm.hpp>

namespace kiln::cuda {

KILN_INLINE bool has_batch_norm(Cuda device) {
  return has_cudnn(device) && cudnn_api().batch_norm_training != nullptr;
}

KILN_INLINE bool can_batch_norm(const batch_norm_sizes& s, dtype type, double eps) {
  constexpr double least_eps = 0;  // CUDNN_BN_MIN_EPSILON, in all versions 9
  // Undocumented; each pass has its own, and this is the least that has been met with.
  constexpr std::int64_t most_batch = 65535;
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();  // cuDNN counts in 32 bits
  const pair2d image = s.image;
  return (type == dtype::float32 || type == dtype::float64) && eps >= least_eps && s.batch > 0 &&
         s.batch <= most_batch && s.channels > 0 && image.height > 0 && image.width > 0 &&
         most / s.batch / s.channels / image.height / image.width > 0 && image != pair2d(1);
}

namespace detail {

KILN_INLINE void check_batch_norm(const batch_norm_sizes& s, dtype type, double eps, Cuda device) {
  if (!can_batch_norm(s, type, eps))
    throw value_error(message("batch_norm: cuDNN has none for ", name(type), " elements of (", s.batch, ", ",
                              s.channels, ", ", s.image.height, ", ", s.image.width, ") and an eps of ", eps,
                              ": ask can_batch_norm() first"));
  if (!has_batch_norm(device))
    throw device_error(
        "batch_norm: there is no cuDNN with batch norms on this machine: ask has_batch_norm() first, or install "
        "cuDNN 9");
}

}  // namespace detail

KILN_INLINE void batch_norm_training(const batch_norm_sizes& s, dtype type, const void* x, const void* weight,
                                     const void* bias, double eps, void* y, void* mean, void* inverse,
                                     const batch_norm_running& running, const stream& where) {
  detail::check_batch_norm(s, type, eps, where.device());
  const device_scope scope(where.device());
  const detail::scaling scale(type, false);
  detail::cudnn_library::of(where.device()).use(where, [&](cudnn_handle handle) {
    const detail::batch_norm_plan plan(s, type);
    check(cudnn_api().batch_norm_training(handle, cudnn_batch_norm_mode::spatial, scale.one(), scale.keep(),
                                          plan.x.handle, x, plan.x.handle, y, plan.channel.handle, weight, bias,
                                          running.momentum, running.mean, running.variance, eps, mean, inverse),
          "cudnnBatchNormalizationForwardTraining");
  });
}

KILN_INLINE void batch_norm_backward(const batch_norm_sizes& s, dtype type, const void* x, const void* dy,
                                     const void* weight, const void* mean, const void* inverse, double eps, void* dx,
                                     bool add, void* dweight, void* dbias, const stream& where) {
  detail::check_batch_norm(s, type, eps, where.device());
  const device_scope scope(where.device());
  const detail::scaling scale(type, add), written(type, false);
  detail::cudnn_library::of(where.device()).use(where, [&](cudnn_handle handle) {
    const detail::batch_norm_plan plan(s, type);
    check(cudnn_api().batch_norm_backward(handle, cudnn_batch_norm_mode::spatial, scale.one(), scale.keep(),
                                          written.one(), written.keep(), plan.x.handle, x, plan.x.handle, dy,
                                          plan.x.handle, dx, plan.channel.handle, weight, dweight, dbias, eps, mean,
                                          inverse),
          "cudnnBatchNormalizationBackward");
  });
}

}  // namespace kiln::cuda
