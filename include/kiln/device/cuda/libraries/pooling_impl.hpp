// SPDX-License-Identifier: BSL-1.0
// The definitions of pooling.hpp.
#pragma once

#include <kiln/device/cuda/libraries/pooling.hpp>

namespace kiln::cuda {

KILN_INLINE bool can_pool(const pooling_sizes& s) {
  const window2d& w = s.window;
  auto places = [](std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    return (size + 2 * padding - kernel) / stride + 1;
  };
  return w.dilation == pair2d(1) &&
         s.places == pair2d(places(s.image.height, w.kernel.height, w.stride.height, w.padding.height),
                            places(s.image.width, w.kernel.width, w.stride.width, w.padding.width));
}

KILN_INLINE bool can_pool(const pooling_sizes& s, const average_divisor& divisor) {
  return can_pool(s) && divisor.fixed == 0;
}

}  // namespace kiln::cuda

namespace kiln::cuda {

namespace detail {

KILN_INLINE void check_pooling(const pooling_sizes& s, bool possible) {
  check_counts({{s.planes, s.image.height, s.image.width}, {s.planes, s.places.height, s.places.width}}, "pooling");
  if (!possible)
    throw value_error(
        "pooling: cuDNN has none with dilation, ceil_mode windows beyond the edge or a divisor of one's own: ask "
        "can_pool() first");
}

KILN_INLINE void pool(const pooling_sizes& s, dtype type, cudnn_pooling_mode mode, const void* x, void* y,
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

KILN_INLINE void pool_backward(const pooling_sizes& s, dtype type, cudnn_pooling_mode mode, const void* x,
                               const void* y, const void* dy, void* dx, bool add, const stream& where) {
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

KILN_INLINE cudnn_pooling_mode mode_of(const average_divisor& divisor) {
  return divisor.padding ? cudnn_pooling_mode::average_with_padding : cudnn_pooling_mode::average_without_padding;
}

}  // namespace detail

}  // namespace kiln::cuda

namespace kiln::cuda {

KILN_INLINE void max_pool(const pooling_sizes& s, dtype type, const void* x, void* y, const stream& where) {
  detail::check_pooling(s, can_pool(s));
  detail::pool(s, type, cudnn_pooling_mode::max_deterministic, x, y, where);
}

KILN_INLINE void max_pool_backward(const pooling_sizes& s, dtype type, const void* x, const void* y, const void* dy,
                                   void* dx, bool add, const stream& where) {
  detail::check_pooling(s, can_pool(s));
  detail::pool_backward(s, type, cudnn_pooling_mode::max_deterministic, x, y, dy, dx, add, where);
}

KILN_INLINE void average_pool(const pooling_sizes& s, const average_divisor& divisor, dtype type, const void* x,
                              void* y, const stream& where) {
  detail::check_pooling(s, can_pool(s, divisor));
  detail::pool(s, type, detail::mode_of(divisor), x, y, where);
}

KILN_INLINE void average_pool_backward(const pooling_sizes& s, const average_divisor& divisor, dtype type,
                                       const void* dy, void* dx, bool add, const stream& where) {
  detail::check_pooling(s, can_pool(s, divisor));
  detail::pool_backward(s, type, detail::mode_of(divisor), dx, dy, dy, dx, add, where);
}

}  // namespace kiln::cuda
