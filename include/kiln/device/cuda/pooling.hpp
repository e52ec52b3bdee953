// SPDX-License-Identifier: BSL-1.0
// Poolings on the device Cuda, by cuDNN, over contiguous memory, as far as cuDNN has them.
#pragma once

#include <kiln/device/cuda/convolution.hpp>

namespace kiln::cuda {

/// Whether cuDNN has this pooling: no dilation, and no windows beyond the padding, as ceil_mode makes them.
inline bool can_pool(const pooling_sizes& s) {
  const window2d& w = s.window;
  auto places = [](std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    return (size + 2 * padding - kernel) / stride + 1;
  };
  return w.dilation == pair2d(1) &&
         s.places == pair2d(places(s.image.height, w.kernel.height, w.stride.height, w.padding.height),
                            places(s.image.width, w.kernel.width, w.stride.width, w.padding.width));
}
/// The same of an average: none with a divisor of one's own.
inline bool can_pool(const pooling_sizes& s, const average_divisor& divisor) {
  return can_pool(s) && divisor.fixed == 0;
}

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

inline void check_pooling(const pooling_sizes& s, bool possible) {
  check_counts({{s.planes, s.image.height, s.image.width}, {s.planes, s.places.height, s.places.width}}, "pooling");
  if (!possible)
    throw value_error(
        "pooling: cuDNN has none with dilation, ceil_mode windows beyond the edge or a divisor of one's own: ask "
        "can_pool() first");
}

inline void pool(const pooling_sizes& s, dtype type, cudnn_pooling_mode mode, const void* x, void* y,
                 const stream& where) {
  if (s.planes == 0) return;
  const device_scope scope(where.device());
  const scaling scale(type, false);
  cudnn_library::of(where.device()).use(where, [&](cudnn_handle handle) {
    const pooling_plan plan(s, type, mode);
    check(cudnn_api().pooling_forward(handle, plan.how.handle, scale.one(), plan.x.handle, x, scale.keep(),
                                      plan.y.handle, y),
          "cudnnPoolingForward");
  });
}
inline void pool_backward(const pooling_sizes& s, dtype type, cudnn_pooling_mode mode, const void* x, const void* y,
                          const void* dy, void* dx, bool add, const stream& where) {
  if (s.planes == 0) return;
  const device_scope scope(where.device());
  const scaling scale(type, add);
  cudnn_library::of(where.device()).use(where, [&](cudnn_handle handle) {
    const pooling_plan plan(s, type, mode);
    check(cudnn_api().pooling_backward(handle, plan.how.handle, scale.one(), plan.y.handle, y, plan.y.handle, dy,
                                       plan.x.handle, x, scale.keep(), plan.x.handle, dx),
          "cudnnPoolingBackward");
  });
}
inline cudnn_pooling_mode mode_of(const average_divisor& divisor) {
  return divisor.padding ? cudnn_pooling_mode::average_with_padding : cudnn_pooling_mode::average_without_padding;
}

}  // namespace detail

/// Queues y = the largest element under each window; nan if there is one. x (planes, image), y (planes, places), both
/// contiguous. Throws value_error unless can_pool(), shape_error for 2^31 elements or more, dtype_error, device_error.
inline void max_pool(const pooling_sizes& s, dtype type, const void* x, void* y, const stream& where) {
  detail::check_pooling(s, can_pool(s));
  detail::pool(s, type, cudnn_pooling_mode::max_deterministic, x, y, where);
}
/// Queues the gradient by x, given that by y, to be written to dx or added to it. Which of several largest elements
/// gets it is cuDNN's choice, the same each time.
inline void max_pool_backward(const pooling_sizes& s, dtype type, const void* x, const void* y, const void* dy,
                              void* dx, bool add, const stream& where) {
  detail::check_pooling(s, can_pool(s));
  detail::pool_backward(s, type, cudnn_pooling_mode::max_deterministic, x, y, dy, dx, add, where);
}
/// Queues y = the average of the elements under each window. As max_pool().
inline void average_pool(const pooling_sizes& s, const average_divisor& divisor, dtype type, const void* x, void* y,
                         const stream& where) {
  detail::check_pooling(s, can_pool(s, divisor));
  detail::pool(s, type, detail::mode_of(divisor), x, y, where);
}
/// Queues the gradient by x, given that by y. cuDNN's interface wants x and y too, which an average does not read: dx
/// and dy stand in for them.
inline void average_pool_backward(const pooling_sizes& s, const average_divisor& divisor, dtype type, const void* dy,
                                  void* dx, bool add, const stream& where) {
  detail::check_pooling(s, can_pool(s, divisor));
  detail::pool_backward(s, type, detail::mode_of(divisor), dx, dy, dy, dx, add, where);
}

}  // namespace kiln::cuda
