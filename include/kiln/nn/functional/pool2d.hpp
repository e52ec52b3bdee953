// SPDX-License-Identifier: BSL-1.0
// max_pool2d and avg_pool2d: the largest element, or the average, under a window that moves over images, as PyTorch has
// them, with gradients. What a device does for them stands in `pooling<Device>`.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include <kiln/autograd/node.hpp>
#include <kiln/device/cpu/drivers.hpp>
#include <kiln/nn/functional/window.hpp>
#include <kiln/tensor/recorder.hpp>

namespace kiln {

/// The stride of a pooling that moves by the size of its kernel.
inline constexpr pair2d kernel_as_stride{std::numeric_limits<std::int64_t>::min()};

/// What max_pool2d may be told; each pair may be one number.
struct max_pool2d_options {
  pair2d stride = kernel_as_stride;  ///< how far the window moves
  pair2d padding = 0;                ///< smallest values added at each edge; at most half of the window
  pair2d dilation = 1;               ///< distance between the elements under the window
  bool ceil_mode = false;            ///< also windows that reach over the far edge
};

/// What avg_pool2d may be told; each pair may be one number.
struct avg_pool2d_options {
  pair2d stride = kernel_as_stride;  ///< how far the window moves
  pair2d padding = 0;                ///< zeros added at each edge; at most half of the window
  bool ceil_mode = false;            ///< also windows that reach over the far edge
  bool count_include_pad = true;     ///< the padding counts as elements
  std::optional<std::int64_t> divisor_override =
      std::nullopt;  ///< what every sum is divided by, instead of the number of elements
};

/// What a device does for poolings. All memory is contiguous and on the device: x and dx (planes, image), y and dy
/// (planes, places); `add` says whether a gradient is added to what is there. The storage is that of what is written.
/// T is a floating type.
template <class Device>
struct pooling {
  static_assert(detail::never<Device>, "kiln: this device has no poolings: use .to<Cpu>()");
};

template <OnHost Device>
struct pooling<Device> {
  template <class T>
  static void max(const pooling_sizes& s, const T* x, T* y, const storage&) {
    cpu::drivers::max_pool(s, x, y);
  }
  template <class T>
  static void max_backward(const pooling_sizes& s, const T* x, const T* y, const T* dy, T* dx, bool add,
                           const storage&) {
    cpu::drivers::max_pool_backward(s, x, y, dy, dx, add);
  }
  template <class T>
  static void average(const pooling_sizes& s, const average_divisor& divisor, const T* x, T* y, const storage&) {
    cpu::drivers::average_pool(s, divisor, x, y);
  }
  template <class T>
  static void average_backward(const pooling_sizes& s, const average_divisor& divisor, const T* dy, T* dx, bool add,
                               const storage&) {
    cpu::drivers::average_pool_backward(s, divisor, dy, dx, add);
  }
};

namespace detail {

/// The sizes of a pooling. Throws shape_error and value_error as max_pool2d.
inline pooling_sizes checked_pooling(const dims& x, window2d window, bool ceil, const char* where) {
  if (x.rank() != 4)
    throw shape_error(message(where, ": images of shape ", x,
                              " need four axes: batch, channel, row, column (unsqueeze or reshape them)"));
  if (window.stride == kernel_as_stride) window.stride = window.kernel;
  check_window(window, where);
  const pair2d reach = window.reach();
  if (window.padding.height > reach.height / 2 || window.padding.width > reach.width / 2)
    throw value_error(message(where, ": a padding of ", window.padding, " for a window that reaches over ", reach,
                              ": use at most half of that"));
  const pair2d image{x[2], x[3]};
  if (image.height == 0 || image.width == 0)
    throw shape_error(message(where, ": images of shape ", x, " have no elements to pool: each needs one at least"));
  return {x[0] * x[1], image, window_places(image, window, ceil, x, where), window};
}

template <Element T, class Device>
class max_pool_node final : public op_node_of<1, 2> {
 public:
  max_pool_node(const pooling_sizes& s, const tensor_state& x, const tensor_state& y, ref<gradient_record> record)
      : op_node_of(functions_of<Device>), sizes_(s) {
    input[0] = std::move(record);
    saved[0].save(x);
    saved[1].save(y);
  }
  const char* name() const override { return "max_pool2d"; }
  void backward(const ref<tensor_state>& gradient) override {
    const storage& near = *gradient->memory;
    check_saved(near);
    const gradient_target to = target(0, near);
    pooling<Device>::max_backward(sizes_, static_cast<const T*>(saved[0].data), static_cast<const T*>(saved[1].data),
                                  static_cast<const T*>(gradient->data), static_cast<T*>(to.tensor->data), to.add,
                                  near);
  }

 private:
  pooling_sizes sizes_;
};

/// Of an average, or of its gradient, which is linear too: each is the gradient of the other.
template <Element T, class Device>
class average_pool_node final : public op_node_of<1> {
 public:
  average_pool_node(const pooling_sizes& s, const average_divisor& divisor, ref<gradient_record> record,
                    bool is_gradient = false)
      : op_node_of(functions_of<Device>), sizes_(s), divisor_(divisor), is_gradient_(is_gradient) {
    input[0] = std::move(record);
  }
  void backward(const ref<tensor_state>& gradient) override {
    const storage& near = *gradient->memory;
    if (is_gradient_) {  // an average has no form that adds
      const ref<tensor_state> out = device().new_tensor(gradient->type, input[0]->sizes, near);
      run(*gradient, *out, false, near);
      return the_recorder().add(*input[0], out, device());
    }
    const gradient_target to = target(0, near);
    run(*gradient, *to.tensor, to.add, near);
  }
  [[gnu::cold]] void backward_recorded(const ref<tensor_state>& gradient, const ref<gradient_record>&) override {
    const storage& near = *gradient->memory;
    const ref<tensor_state> out = device().new_tensor(gradient->type, input[0]->sizes, near);
    run(*gradient, *out, false, near);
    if (gradient->autograd_metadata)
      set_producer(*out, new average_pool_node(sizes_, divisor_, gradient->autograd_metadata, !is_gradient_));
    the_recorder().add(*input[0], out, device());
  }

 private:
  void run(const tensor_state& from, tensor_state& to, bool add, const storage& near) const {
    const T* const in = static_cast<const T*>(from.data);
    T* const out = static_cast<T*>(to.data);
    if (is_gradient_)
      pooling<Device>::average(sizes_, divisor_, in, out, near);
    else
      pooling<Device>::average_backward(sizes_, divisor_, in, out, add, near);
  }

  pooling_sizes sizes_;
  average_divisor divisor_;
  bool is_gradient_;
};

/// Makes the result of a pooling: run(in, out) computes it, producer(in, out) makes its node.
template <Element T, class Device, class Run, class Producer>
Tensor<T, Device> pool(const Tensor<T, Device>& x, const pooling_sizes& s, Run run, Producer producer) {
  auto out = new_output(x, {x.sizes()[0], x.sizes()[1], s.places.height, s.places.width});
  const Tensor<T, Device> images = in_one_piece(x, *out);
  if (s.planes > 0) run(images.data(), static_cast<T*>(out->data), *out->memory);
  if (!grad_enabled() || !x.needs_grad()) return Tensor<T, Device>(std::move(out));
  graph_node* const node = producer(*images.state(), *out);
  return with_producer<T, Device>(std::move(out), node);
}

}  // namespace detail

/// The largest element under a window that moves over images x (N, C, H, W): (N, C, H', W') with
/// H' = floor((H + 2 padding - dilation (kernel - 1) - 1) / stride) + 1; with ceil_mode the quotient is rounded up, but
/// no window begins beyond the image. A nan under the window is the result. The gradient goes to the first of the
/// largest elements, or to the last nan. Throws shape_error where sizes do not fit, value_error for options out of
/// range.
template <Expression X>
auto max_pool2d(const X& x, pair2d kernel_size, const max_pool2d_options& options = {}) {
  if constexpr (detail::any_transformed<X>) {
    static_assert(detail::never<X>,
                  "kiln: max_pool2d takes a batch itself: call it on the whole batch, not within vmap; its derivatives "
                  "are grad's and vjp's, not jvp's");
    return x;
  } else {
    using T = typename X::value_type;
    using Device = typename X::device_type;
    static_assert(is_floating(dtype_of<T>),
                  "kiln: max_pool2d needs a floating element type: cast<float>() the operand");
    const auto images = detail::as_tensor(x);
    const pooling_sizes s =
        detail::checked_pooling(images.sizes(), {kernel_size, options.stride, options.padding, options.dilation},
                                options.ceil_mode, "max_pool2d");
    return detail::pool(
        images, s, [&](const T* in, T* out, const storage& near) { pooling<Device>::max(s, in, out, near); },
        [&](const tensor_state& in, const tensor_state& out) {
          return new detail::max_pool_node<T, Device>(s, in, out, images.state()->autograd_metadata);
        });
  }
}

/// The average of the elements under a window that moves over images x (N, C, H, W): (N, C, H', W') with
/// H' = floor((H + 2 padding - kernel) / stride) + 1, or rounded up with ceil_mode, as max_pool2d. Zeros of the padding
/// are counted unless count_include_pad is false; what lies beyond the padding never is. Throws shape_error where sizes
/// do not fit, value_error for options out of range.
template <Expression X>
auto avg_pool2d(const X& x, pair2d kernel_size, const avg_pool2d_options& options = {}) {
  if constexpr (detail::any_transformed<X>) {
    static_assert(detail::never<X>,
                  "kiln: avg_pool2d takes a batch itself: call it on the whole batch, not within vmap; its derivatives "
                  "are grad's and vjp's, not jvp's");
    return x;
  } else {
    using T = typename X::value_type;
    using Device = typename X::device_type;
    static_assert(is_floating(dtype_of<T>),
                  "kiln: avg_pool2d needs a floating element type: cast<float>() the operand");
    if (options.divisor_override && *options.divisor_override == 0)
      throw value_error("avg_pool2d: a divisor_override of 0: use another number, or leave it out");
    const auto images = detail::as_tensor(x);
    const pooling_sizes s = detail::checked_pooling(images.sizes(), {kernel_size, options.stride, options.padding, 1},
                                                    options.ceil_mode, "avg_pool2d");
    const average_divisor divisor{options.count_include_pad, options.divisor_override.value_or(0)};
    return detail::pool(
        images, s,
        [&](const T* in, T* out, const storage& near) { pooling<Device>::average(s, divisor, in, out, near); },
        [&](const tensor_state&, const tensor_state&) {
          return new detail::average_pool_node<T, Device>(s, divisor, images.state()->autograd_metadata);
        });
  }
}

}  // namespace kiln
