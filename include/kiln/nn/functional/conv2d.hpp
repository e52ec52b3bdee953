// SPDX-License-Identifier: BSL-1.0
// conv2d: images convolved with kernels, as PyTorch has it, and its gradients. What a device does for it stands in
// `convolution<Device>`.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include <kiln/autograd/node.hpp>
#include <kiln/device/cpu/drivers.hpp>
#include <kiln/nn/functional/window.hpp>

namespace kiln {

/// What conv2d may be told; each pair may be one number.
struct conv2d_options {
  pair2d stride = 1;        ///< how far the kernel moves
  pair2d padding = 0;       ///< zeros added at each edge
  pair2d dilation = 1;      ///< distance between the elements under the kernel
  std::int64_t groups = 1;  ///< channels and kernels are split into so many groups that do not see each other
};

/// What a device does for conv2d. All memory is contiguous and on the device: x (batch, channels, image),
/// w (out_channels, channels / groups, kernel), bias (out_channels) or null, y (batch, out_channels, places); `add`
/// says whether a gradient is added to what is there. The storage is that of what is written: it tells the device,
/// where there are several. T is a floating type.
template <class Device>
struct convolution;

template <>
struct convolution<Cpu> {
  template <class T>
  static void forward(const convolution_sizes& s, const T* x, const T* w, const T* bias, T* y, const storage&) {
    cpu::drivers::conv2d(s, x, w, bias, y);
  }
  template <class T>
  static void backward_input(const convolution_sizes& s, const T* dy, const T* w, T* dx, bool add, const storage&) {
    cpu::drivers::conv2d_backward_input(s, dy, w, dx, add);
  }
  template <class T>
  static void backward_weight(const convolution_sizes& s, const T* x, const T* dy, T* dw, bool add, const storage&) {
    cpu::drivers::conv2d_backward_weight(s, x, dy, dw, add);
  }
  template <class T>
  static void backward_bias(const convolution_sizes& s, const T* dy, T* db, bool add, const storage&) {
    cpu::drivers::conv2d_backward_bias(s, dy, db, add);
  }
};

namespace detail {

/// The sizes of a convolution. Throws shape_error and value_error as conv2d.
inline convolution_sizes checked_convolution(const dims& x, const dims& w, const dims* bias,
                                             const conv2d_options& how) {
  if (x.rank() != 4)
    throw shape_error(message("conv2d: images of shape ", x, " and kernels of shape ", w,
                              ": the images need four axes: batch, channel, row, column (unsqueeze or reshape them)"));
  if (w.rank() != 4)
    throw shape_error(message("conv2d: images of shape ", x, " and kernels of shape ", w,
                              ": the kernels need four axes: output channel, input channel, row, column"));
  const std::int64_t groups = how.groups;
  if (groups < 1) throw value_error(message("conv2d: ", groups, " groups: use 1 or more"));
  const window2d window{{w[2], w[3]}, how.stride, how.padding, how.dilation};
  check_window(window, "conv2d");
  if (x[1] % groups != 0 || w[0] % groups != 0)
    throw shape_error(message("conv2d: images of shape ", x, " and kernels of shape ", w, " in ", groups,
                              " groups: the number of groups must divide the channels of both, ", x[1], " and ", w[0]));
  if (w[1] != x[1] / groups)
    throw shape_error(message("conv2d: images of shape ", x, " and kernels of shape ", w, " in ", groups,
                              " groups: the kernels must have ", x[1] / groups,
                              " input channels (the images' channels divided by the groups), not ", w[1]));
  if (bias && *bias != dims{w[0]})
    throw shape_error(message("conv2d: kernels of shape ", w, " and a bias of shape ", *bias, ": the bias must be [",
                              w[0], "], one number for each output channel"));
  const pair2d image{x[2], x[3]};
  return {x[0], x[1], w[0], groups, image, window_places(image, window, false, x, "conv2d"), window};
}

template <Element T, class Device>
class convolution_node final : public graph_node {
 public:
  /// `bias` may be null. x and w are the values in one piece, the records those of the operands.
  convolution_node(const convolution_sizes& s, const tensor_state& x, const tensor_state& w,
                   std::array<ref<gradient_record>, 3> records)
      : sizes_(s), edges_(std::move(records)) {
    if (edges_[1]) x_.save(x);
    if (edges_[0]) w_.save(w);
    inputs = edges_.data();
    input_count = 3;
  }

  void backward(const ref<tensor_state>& gradient) override {
    const storage& near = *gradient->memory;
    for (const saved_value* v : {&x_, &w_})
      if (v->memory) {
        v->check();
        executor<Device>::check_operand(*v->memory, near);
      }
    const T* const dy = static_cast<const T*>(gradient->data);
    if (edges_[0]) {
      const gradient_target to(*edges_[0], functions_of<Device>, near);
      convolution<Device>::backward_input(sizes_, dy, static_cast<const T*>(w_.data), static_cast<T*>(to.tensor->data),
                                          to.add, near);
    }
    if (edges_[1]) {
      const gradient_target to(*edges_[1], functions_of<Device>, near);
      convolution<Device>::backward_weight(sizes_, static_cast<const T*>(x_.data), dy, static_cast<T*>(to.tensor->data),
                                           to.add, near);
    }
    if (edges_[2]) {
      const gradient_target to(*edges_[2], functions_of<Device>, near);
      convolution<Device>::backward_bias(sizes_, dy, static_cast<T*>(to.tensor->data), to.add, near);
    }
  }
  void release() override {
    x_.memory = nullptr, w_.memory = nullptr;
    for (auto& e : edges_) e = nullptr;
    freed = true;
  }

 private:
  convolution_sizes sizes_;
  saved_value x_, w_;
  std::array<ref<gradient_record>, 3> edges_;
};

template <Element T, class Device>
Tensor<T, Device> convolve(const Tensor<T, Device>& x, const Tensor<T, Device>& w, const Tensor<T, Device>& bias,
                           const conv2d_options& how) {
  const dims* const bias_sizes = bias.defined() ? &bias.sizes() : nullptr;
  const convolution_sizes s = checked_convolution(x.sizes(), w.sizes(), bias_sizes, how);
  auto out = new_output(x, {s.batch, s.out_channels, s.places.height, s.places.width});
  const Tensor<T, Device> images = in_one_piece(x, *out), kernels = in_one_piece(w, *out),
                          added = bias_sizes ? in_one_piece(bias, *out) : bias;
  if (count(out->sizes) > 0)
    convolution<Device>::forward(s, images.data(), kernels.data(), bias_sizes ? added.data() : nullptr,
                                 static_cast<T*>(out->data), *out->memory);
  const ref<gradient_record> none;
  std::array<ref<gradient_record>, 3> records{x.state()->history, w.state()->history,
                                              bias_sizes ? bias.state()->history : none};
  if (!grad_enabled() || !(records[0] || records[1] || records[2])) return Tensor<T, Device>(std::move(out));
  return with_producer<T, Device>(
      std::move(out), new convolution_node<T, Device>(s, *images.state(), *kernels.state(), std::move(records)));
}

}  // namespace detail

/// The convolution of images x (N, C, H, W) with kernels w (O, C / groups, kh, kw), plus a bias (O) for each channel of
/// the result: (N, O, H', W') with H' = floor((H + 2 padding - dilation (kh - 1) - 1) / stride) + 1. As in all neural
/// network libraries the kernels are not mirrored: y[o, i, j] = sum over c, p, q of
/// w[o, c, p, q] x[c, i stride + p dilation - padding, j stride + q dilation - padding]. A bias without a tensor
/// (`Tensor<float>{}`) is none. half and bfloat16 are computed in float and rounded once.
/// Throws shape_error where sizes do not fit, value_error for options out of range.
template <Expression X, Expression W, Expression B>
auto conv2d(const X& x, const W& w, const B& bias, const conv2d_options& options = {}) {
  using T = typename X::value_type;
  static_assert(std::is_same_v<T, typename W::value_type> && std::is_same_v<T, typename B::value_type>,
                "kiln: conv2d needs images, kernels and bias of one element type: cast<T>() the others");
  static_assert(is_floating(dtype_of<T>), "kiln: conv2d needs a floating element type: cast<float>() the operands");
  return detail::convolve(detail::as_tensor(x), detail::as_tensor(w), detail::as_tensor(bias), options);
}
/// The same without a bias.
template <Expression X, Expression W>
auto conv2d(const X& x, const W& w, const conv2d_options& options = {}) {
  using Bias = Tensor<typename W::value_type, typename W::device_type>;
  return conv2d(x, w, Bias(), options);
}

}  // namespace kiln
