// SPDX-License-Identifier: BSL-1.0
// Batch norms in training on the device Cuda, by cuDNN, over contiguous memory, as far as cuDNN has them.
#pragma once

#include <cstdint>
#include <limits>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/libraries/convolution.hpp>

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

/// Whether there is a cuDNN that starts on this device and has batch norms.
bool has_batch_norm(Cuda device);

/// Whether cuDNN's batch norms, where there are any, take these operands. Not half types, which kiln's own kernels do
/// in a third of the time; not images of one element, which lie apart from each other: kiln's kernels sum columns.
bool can_batch_norm(const batch_norm_sizes& s, dtype type, double eps);

namespace detail {

void check_batch_norm(const batch_norm_sizes& s, dtype type, double eps, Cuda device);

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
void batch_norm_training(const batch_norm_sizes& s, dtype type, const void* x, const void* weight, const void* bias,
                         double eps, void* y, void* mean, void* inverse, const batch_norm_running& running,
                         const stream& where);

/// Queues the gradients by x, weight and bias, given that by y; that by x is written to dx or added to it. `mean` and
/// `inverse` are those of the training pass. Throws as batch_norm_training().
void batch_norm_backward(const batch_norm_sizes& s, dtype type, const void* x, const void* dy, const void* weight,
                         const void* mean, const void* inverse, double eps, void* dx, bool add, void* dweight,
                         void* dbias, const stream& where);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/libraries/batch_norm_impl.hpp>
#endif
