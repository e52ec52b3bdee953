// SPDX-License-Identifier: BSL-1.0
// The definitions of pooling.hpp.
#pragma once

#include <kiln/device/cuda/libraries/pooling.hpp>

namespace kiln::cuda {

KILN_INLINE bool can_pool(const pooling_sizes& s, const average_divisor& divisor) {
  const window2d& w = s.window;
  auto places = [](std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    return (size + 2 * padding - kernel) / stride + 1;
  };
  return divisor.fixed == 0 && w.dilation == pair2d(1) &&
         s.places == pair2d(places(s.image.height, w.kernel.height, w.stride.height, w.padding.height),
                            places(s.image.width, w.kernel.width, w.stride.width, w.padding.width));
}

namespace detail {

KILN_INLINE void check_pooling(const pooling_sizes& s, const average_divisor& divisor) {
  check_counts({{s.planes, s.image.height, s.image.width}, {s.planes, s.places.height, s.places.width}}, "pooling");
  if (!can_pool(s, divisor))
    throw value_error(
        "pooling: cuDNN has none with dilation, ceil_mode windows beyond the edge or a divisor of one's own: ask "
        "can_pool() first");
}

KILN_INLINE cudnn_pooling_mode mode_of(const average_divisor& divisor) {
  return divisor.padding ? cudnn_pooling_mode::average_with_padding : cudnn_pooling_mode::average_without_padding;
}

}  // namespace detail

KILN_INLINE void average_pool(const pooling_sizes& s, const average_divisor& divisor, dtype type, const void* x,
                              void* y, const stream& where) {
  detail::check_pooling(s, divisor);
  if (s.planes == 0) return;
  const device_scope scope(where.device());
  const detail::scaling scale(type, false);
  detail::cudnn_library::of(where.device()).use(where, [&](cudnn_handle handle) {
    const detail::pooling_plan plan(s, type, detail::mode_of(divisor));
    check(cudnn_api().pooling_forward(handle, plan.how.handle, scale.one(), plan.x.handle, x, scale.keep(),
                                      plan.y.handle, y),
          "cudnnPoolingForward");
  });
}

KILN_INLINE void average_pool_backward(const pooling_sizes& s, const average_divisor& divisor, dtype type,
                                       const void* dy, void* dx, bool add, const stream& where) {
  detail::check_pooling(s, divisor);
  if (s.planes == 0) return;
  const device_scope scope(where.device());
  const detail::scaling scale(type, add);
  detail::cudnn_library::of(where.device()).use(where, [&](cudnn_handle handle) {
    const detail::pooling_plan plan(s, type, detail::mode_of(divisor));
    check(cudnn_api().pooling_backward(handle, plan.how.handle, scale.one(), plan.y.handle, dy, plan.y.handle, dy,
                                       plan.x.handle, dx, scale.keep(), plan.x.handle, dx),
          "cudnnPoolingBackward");
  });
}

}  // namespace kiln::cuda
