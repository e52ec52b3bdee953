// SPDX-License-Identifier: BSL-1.0
// ConvTranspose2d: what takes the gradient of a convolution to its images, as a layer of its own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include <kiln/nn/layers/conv.hpp>

namespace kiln::nn {

/// What ConvTranspose2d may be told; each pair may be one number.
struct conv_transpose2d_options {
  pair2d stride = 1;          ///< how far the kernel moves over the result
  pair2d padding = 0;         ///< so many elements are left out at each edge of the result
  pair2d output_padding = 0;  ///< so many more elements at the far edges of the result
  std::int64_t groups = 1;    ///< channels and kernels are split into so many groups that do not see each other
  bool bias = true;           ///< add a number for each output channel
  pair2d dilation = 1;        ///< distance between the elements under the kernel
};

namespace detail {

/// The images' gradient of a convolution as an op: its own gradients are the convolution and the gradient of its
/// kernels.
template <Element T, class D>
class conv_transpose_node final : public kiln::detail::op_node_of<2, 2> {
 public:
  /// `x` and `w` in one piece; the records are those of the operands.
  conv_transpose_node(const convolution_sizes& s, const tensor_state& x, const tensor_state& w,
                      std::array<ref<gradient_record>, 2> records)
      : kiln::detail::op_node_of<2, 2>(kiln::detail::functions_of<D>), sizes_(s) {
    this->input[0] = std::move(records[0]), this->input[1] = std::move(records[1]);
    if (this->wants(1)) this->saved[0].save(x);
    if (this->wants(0)) this->saved[1].save(w);
  }
  const char* name() const override { return "conv_transpose2d"; }
  void backward(const ref<tensor_state>& gradient) override {
    const storage& near = *gradient->memory;
    this->check_saved(near);
    const T* const dy = static_cast<const T*>(gradient->data);
    if (this->wants(0)) {
      const kiln::detail::gradient_target to = this->target(0, near);
      const T* const w = static_cast<const T*>(this->saved[1].data);
      if (!to.add) {
        convolution<D>::forward(sizes_, dy, w, static_cast<const T*>(nullptr), static_cast<T*>(to.tensor->data), near);
      } else {
        const ref<tensor_state> more = kiln::executor<D>::new_tensor(dtype_of<T>, to.tensor->sizes, near);
        convolution<D>::forward(sizes_, dy, w, static_cast<const T*>(nullptr), static_cast<T*>(more->data), near);
        const no_grad quiet;
        Tensor<T, D>(to.tensor) += Tensor<T, D>(more);
      }
    }
    if (this->wants(1)) {
      const kiln::detail::gradient_target to = this->target(1, near);
      convolution<D>::backward_weight(sizes_, dy, static_cast<const T*>(this->saved[0].data),
                                      static_cast<T*>(to.tensor->data), to.add, near);
    }
  }

 private:
  convolution_sizes sizes_;
};

/// The result without bias, (N, out_channels, H', W') of images (N, in_channels, H, W) and kernels (in_channels,
/// out_channels / groups, kh, kw). Throws shape_error and value_error as conv2d.
template <Element T, class D>
Tensor<T, D> conv_transpose(const Tensor<T, D>& x, const Tensor<T, D>& w, const conv_transpose2d_options& o) {
  const dims& s = x.sizes();
  auto size = [&](std::int64_t n, std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t dilation,
                  std::int64_t more) { return (n - 1) * stride - 2 * padding + dilation * (kernel - 1) + more + 1; };
  const dims result{
      s[0], w.size(1) * o.groups,
      size(s[2], w.size(2), o.stride.height, o.padding.height, o.dilation.height, o.output_padding.height),
      size(s[3], w.size(3), o.stride.width, o.padding.width, o.dilation.width, o.output_padding.width)};
  if (result[2] < 1 || result[3] < 1)
    throw shape_error(message("ConvTranspose2d: images of shape ", s, " and kernels of shape ", w.sizes(),
                              " leave nothing of the result: use less padding"));
  // The convolution that this is the transposed of: from the result to the images.
  const convolution_sizes sizes =
      kiln::detail::checked_convolution(result, w.sizes(), nullptr, {o.stride, o.padding, o.dilation, o.groups});
  auto out = kiln::detail::new_output(x, result);
  const Tensor<T, D> images = kiln::detail::in_one_piece(x, *out), kernels = kiln::detail::in_one_piece(w, *out);
  convolution<D>::backward_input(sizes, images.data(), kernels.data(), static_cast<T*>(out->data), false, *out->memory);
  std::array<ref<gradient_record>, 2> records{x.state()->autograd_metadata, w.state()->autograd_metadata};
  if (!grad_enabled() || !(records[0] || records[1])) return Tensor<T, D>(std::move(out));
  return kiln::detail::with_producer<T, D>(
      std::move(out), new conv_transpose_node<T, D>(sizes, *images.state(), *kernels.state(), std::move(records)));
}

}  // namespace detail

/// Images (N, in_channels, H, W) spread by learned kernels: torch.nn.ConvTranspose2d. `weight` is (in_channels,
/// out_channels / groups, kernel height, kernel width). It has no second derivative.
template <Element T = float, class D = Cpu>
struct ConvTranspose2d {
  std::int64_t in_channels = 0, out_channels = 0;
  pair2d kernel_size = 1;
  conv_transpose2d_options options{};
  Tensor<T, D> weight =
      init::fan_in<T, D>({in_channels, detail::channels_of_group(out_channels, options.groups, "ConvTranspose2d"),
                          kernel_size.height, kernel_size.width},
                         inputs());
  Tensor<T, D> bias = options.bias ? init::fan_in<T, D>({out_channels}, inputs()) : Tensor<T, D>();

  /// (N, out_channels, H', W') with H' = (H - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1, or
  /// without N for one image. Throws shape_error for other channels, value_error for an output_padding that is not
  /// below stride or dilation.
  template <Expression X>
  auto operator()(const X& x) const {
    const dims sizes = shape_of(x);
    detail::expect_rank(*this, sizes, 3, 4, "images (N, C, H, W) or (C, H, W)");
    detail::expect_size(*this, sizes, -3, in_channels);
    const pair2d& more = options.output_padding;
    // As large as the stride, it would make room for one more place of the convolution back.
    if (more.height < 0 || more.width < 0 || more.height >= options.stride.height || more.width >= options.stride.width)
      throw value_error(message(detail::printed_layer(*this), ": an output_padding of ", more,
                                " must be 0 or more and below the stride"));
    const Tensor<T, D> images = sizes.rank() == 3 ? unsqueeze(x, 0) : kiln::detail::as_tensor(x);
    const dims beside = bias.defined() ? dims{out_channels, 1, 1} : dims{1, 1, 1};
    const Tensor<T, D> y =
        detail::conv_transpose(images, weight, options) + detail::or_number(bias, weight, 0).reshape(beside);
    return detail::watched(this, sizes.rank() == 3 ? squeeze(y, 0) : y);
  }
  std::string settings() const { return detail::convolution_settings(*this); }

 private:
  std::int64_t inputs() const {
    return detail::inputs_of_output(out_channels, options.groups, kernel_size.area(), "ConvTranspose2d");
  }
};

}  // namespace kiln::nn
