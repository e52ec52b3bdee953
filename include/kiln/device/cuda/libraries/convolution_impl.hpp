// SPDX-License-Identifier: BSL-1.0
// The definitions of convolution.hpp.
#pragma once

#include <kiln/device/cuda/libraries/convolution.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE void check_counts(std::initializer_list<dims> shapes, const char* where) {
  for (const dims& shape : shapes)
    if (count(shape) > std::numeric_limits<std::int32_t>::max())
      throw shape_error(message(where, ": a tensor of shape ", shape, " has ", count(shape),
                                " elements; cuDNN takes fewer than 2^31: split the batch"));
}

KILN_INLINE void check_counts(const convolution_sizes& s) {
  check_counts({{s.batch, s.channels, s.image.height, s.image.width},
                {s.batch, s.out_channels, s.places.height, s.places.width},
                {s.out_channels, s.group_inputs(), s.window.kernel.height, s.window.kernel.width}},
               "convolution");
}

KILN_INLINE bool has_products(const convolution_sizes& s) {
  return s.batch > 0 && s.weights() > 0 && s.places.area() > 0 && s.image.area() > 0;
}

KILN_INLINE void set_zero(void* to, std::int64_t elements, dtype type, bool add, const stream& where) {
  if (!add && elements > 0) fill_bytes(to, 0, static_cast<std::size_t>(elements) * size_of(type), where);
}

}  // namespace detail

KILN_INLINE bool has_cudnn(Cuda device) {
  static const bool opens = [] {
    try {
      cudnn_api();
      return true;
    } catch (const device_error&) {
      return false;
    }
  }();
  return opens && detail::cudnn_library::of(device).starts(device);
}

KILN_INLINE void convolve(const convolution_sizes& s, dtype type, const void* x, const void* w, const void* bias,
                          void* y, bool allow_tf32, const stream& where) {
  detail::check_counts(s);
  const std::int64_t results = s.batch * s.out_channels * s.places.area();
  if (results == 0) return;
  const device_scope scope(where.device());
  const cudnn_functions& api = cudnn_api();
  const bool products = detail::has_products(s);
  const detail::scaling scale(type, false), onto(type, true);
  if (!products) detail::set_zero(y, results, type, false, where);
  if (products)
    detail::run_convolution(s, type, detail::convolution_pass::forward, allow_tf32, where, "cudnnConvolutionForward",
                            [&](cudnn_handle handle, const detail::convolution_plan& plan, void* workspace) {
                              return api.forward(handle, scale.one(), plan.x.handle, x, plan.w.handle, w,
                                                 plan.how.handle, plan.chosen.algorithm, workspace,
                                                 plan.chosen.workspace_bytes, scale.keep(), plan.y.handle, y);
                            });
  if (bias == nullptr) return;
  detail::cudnn_library::of(where.device()).use(where, [&](cudnn_handle handle) {
    const detail::tensor_descriptor from(type, 1, s.out_channels, 1), to(type, s.batch, s.out_channels, s.places);
    check(api.add_tensor(handle, onto.one(), from.handle, bias, onto.keep(), to.handle, y), "cudnnAddTensor");
  });
}

KILN_INLINE void convolve_backward_input(const convolution_sizes& s, dtype type, const void* dy, const void* w,
                                         void* dx, bool add, bool allow_tf32, const stream& where) {
  detail::check_counts(s);
  const device_scope scope(where.device());
  if (!detail::has_products(s)) return detail::set_zero(dx, s.batch * s.channels * s.image.area(), type, add, where);
  const detail::scaling scale(type, add);
  detail::run_convolution(
      s, type, detail::convolution_pass::backward_input, allow_tf32, where, "cudnnConvolutionBackwardData",
      [&](cudnn_handle handle, const detail::convolution_plan& plan, void* workspace) {
        return cudnn_api().backward_data(handle, scale.one(), plan.w.handle, w, plan.y.handle, dy, plan.how.handle,
                                         plan.chosen.algorithm, workspace, plan.chosen.workspace_bytes, scale.keep(),
                                         plan.x.handle, dx);
      });
}

KILN_INLINE void convolve_backward_weight(const convolution_sizes& s, dtype type, const void* x, const void* dy,
                                          void* dw, bool add, bool allow_tf32, const stream& where) {
  detail::check_counts(s);
  const device_scope scope(where.device());
  if (!detail::has_products(s)) return detail::set_zero(dw, s.weights(), type, add, where);
  const detail::scaling scale(type, add);
  detail::run_convolution(
      s, type, detail::convolution_pass::backward_weight, allow_tf32, where, "cudnnConvolutionBackwardFilter",
      [&](cudnn_handle handle, const detail::convolution_plan& plan, void* workspace) {
        return cudnn_api().backward_filter(handle, scale.one(), plan.x.handle, x, plan.y.handle, dy, plan.how.handle,
                                           plan.chosen.algorithm, workspace, plan.chosen.workspace_bytes, scale.keep(),
                                           plan.w.handle, dw);
      });
}

}  // namespace kiln::cuda
