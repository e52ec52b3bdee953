// SPDX-License-Identifier: BSL-1.0
// Poolings by kernels of our own (kernels/pooling.cuh): those that cuDNN lacks, and all maxima, of which the first
// among equals gets the gradient here as on the processor.
#pragma once

#include <cstdint>
#include <string>

#include <kiln/core/version.hpp>
#include <kiln/core/window.hpp>
#include <kiln/device/cuda/print/print_fixed.hpp>
#include <kiln/device/cuda/run/launch_fixed.hpp>

namespace kiln::cuda {

/// What kernels/pooling.cuh holds.
enum class pooling_kernel : std::uint8_t { max, max_backward, average, average_backward };

/// The kernel for elements of a floating type. Parameters:
///   max:               const T* x, T* y, pooling_shape
///   max_backward:      const T* x, const T* y, const T* dy, T* dx, pooling_shape, bool add
///   average:           const T* x, T* y, pooling_shape
///   average_backward:  const T* dy, T* dx, pooling_shape, bool add
source print_pooling(pooling_kernel which, dtype type);

namespace detail {

/// The pooling_shape of kernels/pooling.cuh.
struct pooling_shape {
  std::int64_t planes, rows, columns, place_rows, place_columns;
  std::int64_t kernel[2], stride[2], padding[2], dilation[2];
  std::int64_t fixed;
  std::int32_t padding_counts;

  explicit pooling_shape(const pooling_sizes& s, const average_divisor& divisor = {})
      : planes(s.planes),
        rows(s.image.height),
        columns(s.image.width),
        place_rows(s.places.height),
        place_columns(s.places.width),
        kernel{s.window.kernel.height, s.window.kernel.width},
        stride{s.window.stride.height, s.window.stride.width},
        padding{s.window.padding.height, s.window.padding.width},
        dilation{s.window.dilation.height, s.window.dilation.width},
        fixed(divisor.fixed),
        padding_counts(divisor.padding) {}
};

template <std::size_t N>
void launch_pooling(pooling_kernel which, dtype type, std::int64_t items, const stream& where,
                    const void* const (&arguments)[N]) {
  launch_fixed(
      message("pool ", static_cast<int>(which), " ", name(type)), [&] { return print_pooling(which, type); }, items,
      256, where, arguments);
}

}  // namespace detail

/// Queues y = the largest element under each window; nan if there is one. x (planes, image), y (planes, places), both
/// contiguous and of one floating type.
void own_max_pool(const pooling_sizes& s, dtype type, const void* x, void* y, const stream& where);
/// Queues its gradient by x, given that by y, to be written to dx or added to it.
void own_max_pool_backward(const pooling_sizes& s, dtype type, const void* x, const void* y, const void* dy, void* dx,
                           bool add, const stream& where);
/// Queues y = the average of the elements under each window.
void own_average_pool(const pooling_sizes& s, const average_divisor& divisor, dtype type, const void* x, void* y,
                      const stream& where);
/// Queues its gradient by x, given that by y, to be written to dx or added to it.
void own_average_pool_backward(const pooling_sizes& s, const average_divisor& divisor, dtype type, const void* dy,
                               void* dx, bool add, const stream& where);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/run/pooling_kernels_impl.hpp>
#endif
