// SPDX-License-Identifier: BSL-1.0
// conv2d: images convolved with kernels, as PyTorch has it, and its gradients. What a device does for it stands in
// `convolution<Device>`.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include <kiln/autograd/node.hpp>
#include <kiln/device/cpu/drivers.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/nn/functional/window.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/recorder.hpp>

namespace kiln {

/// What conv2d may be told; each pair may be one number.
struct conv2d_options {
  pair2d stride = 1;        ///< how far the kernel moves
  pair2d padding = 0;       ///< zeros added at each edge
  pair2d dilation = 1;      ///< distance between the elements under the kernel
  std::int64_t groups = 1;  ///< channels and kernels are split into so many groups that do not see each other
  image_layout layout = image_layout::channels_first;  ///< of images, kernels and the result
};

/// What a device does for conv2d. All memory is contiguous and on the device: x (batch, channels, image),
/// w (out_channels, channels / groups, kernel), bias (out_channels) or null, y (batch, out_channels, places); `add`
/// says whether a gradient is added to what is there. The storage is that of what is written: it tells the device,
/// where there are several. T is a floating type. Devices with memory of their own need no backward_bias. Where
/// `has_channels_last<T>` is there and true, all three may have their channels last, as the sizes' layout says; there
/// is no bias then.
template <class Device>
struct convolution {
  static_assert(detail::never<Device>, "kiln: this device has no convolutions: use .to<Cpu>()");
};

template <OnHost Device>
struct convolution<Device> {
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

template <class Device, class T>
inline constexpr bool has_channels_last = false;
template <class Device, class T>
  requires(convolution<Device>::template has_channels_last<T>)
inline constexpr bool has_channels_last<Device, T> = true;

// Throws shape_error unless the channels of images and kernels with the channel last fit.
inline void check_channels_last(const dims& x, const dims& w, std::int64_t groups) {
  if (x.rank() != 4 || w.rank() != 4 || (groups > 0 && (x[3] % groups != 0 || w[3] != x[3] / groups)))
    throw shape_error(message("conv2d: images of shape ", x, " and kernels of shape ", w, " in ", groups,
                              " groups, channels last: the images need the axes batch, row, column, channel, the "
                              "kernels output channel, row, column, input channel of a group"));
}

/// The sizes of a convolution, whose shapes are given with the channel first. Throws shape_error and value_error as
/// conv2d.
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
  return {x[0], x[1], w[0], groups, image, window_places(image, window, false, x, "conv2d"), window, how.layout};
}

/// A convolution of images x and kernels w, the gradient of its images, of dy and w, or of its kernels, of x and dy:
/// products of two operands each, of which each is made of the others' kinds when it is differentiated.
enum class convolution_kind : std::uint8_t { forward, input, weight };

template <Element T, class Device>
ref<tensor_state> recorded_convolution(const convolution_sizes& s, convolution_kind kind, const ref<tensor_state>& a,
                                       const ref<tensor_state>& b);

template <Element T, class Device>
class recorded_convolution_node final : public op_node_of<2, 2> {
 public:
  recorded_convolution_node(const convolution_sizes& s, convolution_kind kind, const tensor_state& a,
                            const tensor_state& b)
      : op_node_of(functions_of<Device>), sizes_(s), kind_(kind) {
    input[0] = a.autograd_metadata, input[1] = b.autograd_metadata;
    // What the pass that makes this node does not ask for, one through it may.
    if (input[1]) saved[0].save(a);
    if (input[0]) saved[1].save(b);
  }
  void backward(const ref<tensor_state>&) override {}
  void backward_all(const ref<tensor_state>* gradients, const ref<gradient_record>*) override {
    using kind = convolution_kind;
    const ref<tensor_state>& g = gradients[0];
    check_saved(*g->memory);
    auto add = [&](int i, kind how, const ref<tensor_state>& a, const ref<tensor_state>& b) {
      the_recorder().add(*input[i], recorded_convolution<T, Device>(sizes_, how, a, b), device());
    };
    if (wants(0)) {
      const ref<tensor_state> b = remembered(saved[1], input[1]);
      if (kind_ == kind::forward) add(0, kind::input, g, b);
      if (kind_ == kind::input) add(0, kind::forward, g, b);
      if (kind_ == kind::weight) add(0, kind::input, b, g);
    }
    if (wants(1)) {
      const ref<tensor_state> a = remembered(saved[0], input[0]);
      if (kind_ == kind::forward) add(1, kind::weight, a, g);
      if (kind_ == kind::input) add(1, kind::weight, g, a);
      if (kind_ == kind::weight) add(1, kind::forward, a, g);
    }
  }

 private:
  convolution_sizes sizes_;
  convolution_kind kind_;
};

template <Element T, class Device>
ref<tensor_state> recorded_convolution(const convolution_sizes& s, convolution_kind kind, const ref<tensor_state>& a,
                                       const ref<tensor_state>& b) {
  const storage& near = *a->memory;
  executor<Device>::check_operand(*b->memory, near);
  ref<tensor_state> out = executor<Device>::new_tensor(dtype_of<T>,
                                                       kind == convolution_kind::forward ? s.result_sizes()
                                                       : kind == convolution_kind::input ? s.image_sizes()
                                                                                         : s.kernel_sizes(),
                                                       near);
  const T *const from = static_cast<const T*>(a->data), *const by = static_cast<const T*>(b->data);
  T* const to = static_cast<T*>(out->data);
  if (kind == convolution_kind::input)
    convolution<Device>::backward_input(s, from, by, to, false, near);
  else if (kind == convolution_kind::weight)
    convolution<Device>::backward_weight(s, from, by, to, false, near);
  else if (count(out->sizes) > 0)
    convolution<Device>::forward(s, from, by, static_cast<const T*>(nullptr), to, near);
  if (grad_enabled() && (a->autograd_metadata || b->autograd_metadata))
    set_producer(*out, new recorded_convolution_node<T, Device>(s, kind, *a, *b));
  return out;
}

template <Element T, class Device>
class convolution_node final : public op_node_of<3, 2> {
 public:
  /// `bias` may be null. x and w are the values in one piece, the records those of the operands.
  convolution_node(const convolution_sizes& s, const tensor_state& x, const tensor_state& w,
                   std::array<ref<gradient_record>, 3> records)
      : op_node_of(functions_of<Device>), sizes_(s) {
    for (std::size_t i = 0; i < 3; ++i) input[i] = std::move(records[i]);
    if (wants(1)) saved[0].save(x);
    if (wants(0)) saved[1].save(w);
  }

  void backward(const ref<tensor_state>& gradient) override {
    const storage& near = *gradient->memory;
    check_saved(near);
    const T *const dy = static_cast<const T*>(gradient->data), *const x = static_cast<const T*>(saved[0].data),
                   *const w = static_cast<const T*>(saved[1].data);
    if (wants(0)) {
      const gradient_target to = target(0, near);
      convolution<Device>::backward_input(sizes_, dy, w, static_cast<T*>(to.tensor->data), to.add, near);
    }
    if (wants(1)) {
      const gradient_target to = target(1, near);
      convolution<Device>::backward_weight(sizes_, x, dy, static_cast<T*>(to.tensor->data), to.add, near);
    }
    if (wants(2)) backward_bias(gradient);
  }
  [[gnu::cold]] void backward_recorded(const ref<tensor_state>& g, const ref<gradient_record>&) override {
    check_saved(*g->memory);
    recorder& r = the_recorder();
    if (wants(0))
      r.add(*input[0],
            recorded_convolution<T, Device>(sizes_, convolution_kind::input, g, remembered(saved[1], input[1])),
            device());
    if (wants(1))
      r.add(*input[1],
            recorded_convolution<T, Device>(sizes_, convolution_kind::weight, remembered(saved[0], input[0]), g),
            device());
    if (wants(2)) r.add(*input[2], r.place(g, {g->sizes, {0, 1, 0, 0}, 0}, {sizes_.out_channels}, device()), device());
  }

 private:
  /// By the device, or else by an expression: cuDNN has no such sum for half types.
  void backward_bias(const ref<tensor_state>& gradient) {
    const storage& near = *gradient->memory;
    if constexpr (OnHost<Device>) {
      const gradient_target to = target(2, near);
      convolution<Device>::backward_bias(sizes_, static_cast<const T*>(gradient->data),
                                         static_cast<T*>(to.tensor->data), to.add, near);
    } else {
      const no_grad quiet;
      const auto images =
          Tensor<T, Device>(gradient).reshape({sizes_.batch, sizes_.out_channels, sizes_.places.area()});
      hand_over_gradient(*adding_kernel<T, Device>(), untracked(sum(images, {0, 2})).state(), *input[2]);
    }
  }

  convolution_sizes sizes_;
};

template <Element T, class Device>
Tensor<T, Device> convolve(const Tensor<T, Device>& x, const Tensor<T, Device>& w, const Tensor<T, Device>& bias,
                           const conv2d_options& how) {
  const dims* const bias_sizes = bias.defined() ? &bias.sizes() : nullptr;
  const auto first = [&](const dims& n) {
    return how.layout == image_layout::channels_last ? dims{n[0], n[3], n[1], n[2]} : n;
  };
  const convolution_sizes s = checked_convolution(first(x.sizes()), first(w.sizes()), bias_sizes, how);
  auto out = new_output(x, s.result_sizes());
  const Tensor<T, Device> images = in_one_piece(x, *out), kernels = in_one_piece(w, *out),
                          added = bias_sizes ? in_one_piece(bias, *out) : bias;
  if (count(out->sizes) > 0)
    convolution<Device>::forward(s, images.data(), kernels.data(), bias_sizes ? added.data() : nullptr,
                                 static_cast<T*>(out->data), *out->memory);
  const ref<gradient_record> none;
  std::array<ref<gradient_record>, 3> records{x.state()->autograd_metadata, w.state()->autograd_metadata,
                                              bias_sizes ? bias.state()->autograd_metadata : none};
  if (!grad_enabled() || !(records[0] || records[1] || records[2])) return Tensor<T, Device>(std::move(out));
  return with_producer<T, Device>(
      std::move(out), new convolution_node<T, Device>(s, *images.state(), *kernels.state(), std::move(records)));
}

/// With channels last: on a device that has no such convolution, the other one of operands that are turned.
template <Element T, class Device>
Tensor<T, Device> convolve_channels_last(const Tensor<T, Device>& x, const Tensor<T, Device>& w,
                                         const Tensor<T, Device>& bias, conv2d_options how) {
  check_channels_last(x.sizes(), w.sizes(), how.groups);
  if constexpr (has_channels_last<Device, T>) {
    const Tensor<T, Device> y = convolve(x, w, Tensor<T, Device>(), how);
    if (!bias.defined()) return y;
    if (bias.sizes() != dims{w.size(0)})
      throw shape_error(message("conv2d: kernels of shape ", w.sizes(), " and a bias of shape ", bias.sizes(),
                                ": the bias must be [", w.size(0), "], one number for each output channel"));
    return y + bias;
  } else {
    how.layout = image_layout::channels_first;
    const dims first{0, 3, 1, 2};
    return permute(convolve(permute(x, first), permute(w, first), bias, how), {0, 2, 3, 1});
  }
}

#ifdef KILN_COMPILED  // in src/models.cpp
extern template class convolution_node<float, Cpu>;
extern template class recorded_convolution_node<float, Cpu>;
extern template Tensor<float> convolve(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&,
                                       const conv2d_options&);
extern template Tensor<float> convolve_channels_last(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&,
                                                     conv2d_options);
#endif

}  // namespace detail

/// The convolution of images x (N, C, H, W) with kernels w (O, C / groups, kh, kw), plus a bias (O) for each channel of
/// the result: (N, O, H', W') with H' = floor((H + 2 padding - dilation (kh - 1) - 1) / stride) + 1. As in all neural
/// network libraries the kernels are not mirrored: y[o, i, j] = sum over c, p, q of
/// w[o, c, p, q] x[c, i stride + p dilation - padding, j stride + q dilation - padding]. A bias without a tensor
/// (`Tensor<float>{}`) is none. half and bfloat16 are computed in float and rounded once.
/// With `image_layout::channels_last` images are (N, H, W, C), kernels (O, kh, kw, C / groups) and the result
/// (N, H', W', O): the same numbers in the layout that tensor cores read. Devices other than a GPU turn the operands
/// first, and so does a GPU in double.
/// Throws shape_error where sizes do not fit, value_error for options out of range.
template <Expression X, Expression W, Expression B>
auto conv2d(const X& x, const W& w, const B& bias, const conv2d_options& options = {}) {
  if constexpr (detail::any_transformed<X, W, B>) {
    static_assert(detail::never<X, W, B>,
                  "kiln: conv2d takes a batch itself: call it on the whole batch, not within vmap; its derivatives are "
                  "grad's and vjp's, not jvp's");
    return x;
  } else {
    using T = typename X::value_type;
    static_assert(std::is_same_v<T, typename W::value_type> && std::is_same_v<T, typename B::value_type>,
                  "kiln: conv2d needs images, kernels and bias of one element type: cast<T>() the others");
    static_assert(is_floating(dtype_of<T>), "kiln: conv2d needs a floating element type: cast<float>() the operands");
    if (options.layout == image_layout::channels_last)
      return detail::convolve_channels_last(detail::as_tensor(x), detail::as_tensor(w), detail::as_tensor(bias),
                                            options);
    return detail::convolve(detail::as_tensor(x), detail::as_tensor(w), detail::as_tensor(bias), options);
  }
}
/// The same without a bias.
template <Expression X, Expression W>
auto conv2d(const X& x, const W& w, const conv2d_options& options = {}) {
  if constexpr (detail::any_transformed<X, W>) {
    static_assert(detail::never<X, W>,
                  "kiln: conv2d takes a batch itself: call it on the whole batch, not within vmap; its derivatives are "
                  "grad's and vjp's, not jvp's");
    return x;
  } else {
    using Bias = Tensor<typename W::value_type, typename W::device_type>;
    return conv2d(x, w, Bias(), options);
  }
}

}  // namespace kiln
