// SPDX-License-Identifier: BSL-1.0
// Batch norms in training on the device Cuda, by cuDNN, over contiguous memory, as far as cuDNN has them.
#pragma once

#include <cstdint>
#include <limits>

#include <kiln/device/cuda/convolution.hpp>

namespace kiln::cuda {

/// A batch norm of x (batch, channels, image), contiguous. What is known of each channel is (channels).
struct batch_norm_sizes {
  std::int64_t batch, channels;
  pair2d image;
};

/// Running statistics to be updated, or null: they become (1 - momentum) running + momentum new.
struct batch_norm_running {
  void* mean = nullptr;
  void* variance = nullptr;
  double momentum = 0;
};

/// Whether there is a cuDNN and it has batch norms. Found out once: a program without it does without.
inline bool has_batch_norm() {
  static const bool has = [] {
    try {
      return cudnn_api().batch_norm_training != nullptr;
    } catch (const device_error&) {
      return false;
    }
  }();
  return has;
}

/// Whether cuDNN's batch norms, where there are any, take these operands. Not half types, whose statistics and weights
/// cuDNN wants in float32; not images of one element, which lie apart from each other: kiln's kernels sum columns.
inline bool can_batch_norm(const batch_norm_sizes& s, dtype type, double eps) {
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

inline void check_batch_norm(const batch_norm_sizes& s, dtype type, double eps) {
  if (!can_batch_norm(s, type, eps))
    throw value_error(message("batch_norm: cuDNN has none for ", name(type), " elements of (", s.batch, ", ",
                              s.channels, ", ", s.image.height, ", ", s.image.width, ") and an eps of ", eps,
                              ": ask can_batch_norm() first"));
  if (!has_batch_norm())
    throw device_error(
        "batch_norm: there is no cuDNN with batch norms on this machine: ask has_batch_norm() first, or install "
        "cuDNN 9");
}

// Descriptors of a batch norm.
struct batch_norm_plan {
  tensor_descriptor x, channel;
  batch_norm_plan(const batch_norm_sizes& s, dtype type)
      : x(type, s.batch, s.channels, s.image), channel(type, 1, s.channels, 1) {}
};

}  // namespace detail

/// Queues y = (x - mean) / sqrt(variance + eps) * weight + bias, with the mean and the biased variance of each channel.
/// `mean` and `inverse` receive the mean and 1 / sqrt(variance + eps), for the backward pass. The running variance gets
/// the unbiased one. All of one type. Throws value_error unless can_batch_norm(), device_error unless has_batch_norm()
/// or where cuDNN fails.
inline void batch_norm_training(const batch_norm_sizes& s, dtype type, const void* x, const void* weight,
                                const void* bias, double eps, void* y, void* mean, void* inverse,
                                const batch_norm_running& running, const stream& where) {
  detail::check_batch_norm(s, type, eps);
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

/// Queues the gradients by x, weight and bias, given that by y; that by x is written to dx or added to it. `mean` and
/// `inverse` are those of the training pass. Throws as batch_norm_training().
inline void batch_norm_backward(const batch_norm_sizes& s, dtype type, const void* x, const void* dy,
                                const void* weight, const void* mean, const void* inverse, double eps, void* dx,
                                bool add, void* dweight, void* dbias, const stream& where) {
  detail::check_batch_norm(s, type, eps);
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
