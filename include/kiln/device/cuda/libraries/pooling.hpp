// SPDX-License-Identifier: BSL-1.0
// Average pooling on the device Cuda, by cuDNN, over contiguous memory, as far as cuDNN has it. Max pooling is our own
// (run/pooling_kernels.hpp): the first among equals gets the gradient there, as on the processor.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/libraries/convolution.hpp>

namespace kiln::cuda {

/// Whether cuDNN has this pooling: no dilation, no windows beyond the padding, as ceil_mode makes them, and no divisor
/// of one's own.
bool can_pool(const pooling_sizes& s, const average_divisor& divisor);

namespace detail {

// Descriptors of a pooling.
struct pooling_plan {
  tensor_descriptor x, y;
  cudnn_descriptor<cudnn_pooling> how;

  pooling_plan(const pooling_sizes& s, dtype type, cudnn_pooling_mode mode)
      : x(type, s.planes, 1, s.image),
        y(type, s.planes, 1, s.places),
        how(cudnn_api().pooling_create, cudnn_api().pooling_destroy) {
    const window2d& w = s.window;
    auto number = [](std::int64_t v) { return static_cast<int>(v); };
    check(cudnn_api().pooling_set(how.handle, mode, cudnn_nan::propagate, number(w.kernel.height),
                                  number(w.kernel.width), number(w.padding.height), number(w.padding.width),
                                  number(w.stride.height), number(w.stride.width)),
          "cudnnSetPooling2dDescriptor");
  }
};

void check_pooling(const pooling_sizes& s, const average_divisor& divisor);
cudnn_pooling_mode mode_of(const average_divisor& divisor);

}  // namespace detail

/// Queues y = the average of the elements under each window. x (planes, image), y (planes, places), both contiguous.
/// Throws value_error unless can_pool(), shape_error for 2^31 elements or more, dtype_error, device_error.
void average_pool(const pooling_sizes& s, const average_divisor& divisor, dtype type, const void* x, void* y,
                  const stream& where);
/// Queues the gradient by x, given that by y. cuDNN's interface wants x and y too, which an average does not read: dx
/// and dy stand in for them.
void average_pool_backward(const pooling_sizes& s, const average_divisor& divisor, dtype type, const void* dy, void* dx,
                           bool add, const stream& where);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/libraries/pooling_impl.hpp>
#endif
