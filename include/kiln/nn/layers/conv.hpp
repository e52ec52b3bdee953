// SPDX-License-Identifier: BSL-1.0
// Convolutions as layers: Conv1d, Conv2d.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <kiln/nn/functional/conv2d.hpp>
#include <kiln/nn/init.hpp>
#include <kiln/nn/layers/layer.hpp>

namespace kiln::nn {

/// What Conv2d may be told; each pair may be one number.
struct conv2d_layer_options {
  pair2d stride = 1;        ///< how far the kernel moves
  pair2d padding = 0;       ///< zeros added at each edge
  pair2d dilation = 1;      ///< distance between the elements under the kernel
  std::int64_t groups = 1;  ///< channels and kernels are split into so many groups that do not see each other
  bool bias = true;         ///< add a number for each output channel
  image_layout layout = image_layout::channels_first;  ///< of images, weight and result
};
/// What Conv1d may be told.
struct conv1d_layer_options {
  std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  bool bias = true;
};

namespace detail {

/// Channels that one group has. Throws value_error if the groups do not divide them.
inline std::int64_t channels_of_group(std::int64_t channels, std::int64_t groups, std::string_view layer) {
  if (groups < 1 || channels % groups != 0)
    throw value_error(message(layer, ": ", channels, " channels in ", groups,
                              " groups: the number of groups must be 1 or more and divide the channels"));
  return channels / groups;
}
/// Inputs of one output. Throws as channels_of_group: which of a weight's sizes and this comes first, compilers choose.
inline std::int64_t inputs_of_output(std::int64_t channels, std::int64_t groups, std::int64_t area,
                                     std::string_view layer) {
  return kiln::detail::wrapping_product(channels_of_group(channels, groups, layer), area);
}
/// A pair of images, or the number of signals, as PyTorch prints it.
inline std::string spelled_window(const pair2d& x) {
  return spelled(x);
}
inline std::string spelled_window(std::int64_t x) {
  return spelled(dims{x});
}
/// The settings of a convolution as PyTorch prints them: what is not the default is named.
template <class L>
std::string convolution_settings(const L& layer) {
  const auto& o = layer.options;
  std::string text = settings_text("", layer.in_channels, "", layer.out_channels);
  add_setting(text, "kernel_size", spelled_window(layer.kernel_size));
  add_setting(text, "stride", spelled_window(o.stride));
  using window = std::remove_cvref_t<decltype(o.stride)>;
  if (o.padding != window(0)) add_setting(text, "padding", spelled_window(o.padding));
  if (o.dilation != window(1)) add_setting(text, "dilation", spelled_window(o.dilation));
  if constexpr (requires { o.output_padding; })
    if (o.output_padding != window(0)) add_setting(text, "output_padding", spelled_window(o.output_padding));
  if (o.groups != 1) add_setting(text, "groups", spelled(o.groups));
  if (!o.bias) add_setting(text, "bias", spelled(o.bias));
  if constexpr (requires { o.layout; })
    if (o.layout == image_layout::channels_last) add_setting(text, "layout", "channels_last");
  return text;
}

/// What a convolution takes: its name as a layer, axes of one sample, and how it becomes one of images.
struct convolution_1d {
  static constexpr std::string_view name = "Conv1d", input = "signals (N, C, L) or (C, L)";
  static constexpr int axes = 2;
  using window = std::int64_t;
  using options = conv1d_layer_options;
  static dims sizes(std::int64_t out, std::int64_t in, std::int64_t kernel, const options&) {
    return {out, in, kernel};
  }
  static int channel_axis(const options&) { return -2; }
  static std::int64_t area(std::int64_t kernel) { return kernel; }
  static conv2d_options how(const options& o) { return {{1, o.stride}, {0, o.padding}, {1, o.dilation}, o.groups}; }
  /// The axis of images that signals lack.
  static auto widened(const auto& x) { return unsqueeze(x, 2); }
  static auto narrowed(const auto& x) { return squeeze(x, 2); }
};
struct convolution_2d {
  static constexpr std::string_view name = "Conv2d", input = "images (N, C, H, W) or (C, H, W)";
  static constexpr int axes = 3;
  using window = pair2d;
  using options = conv2d_layer_options;
  static dims sizes(std::int64_t out, std::int64_t in, pair2d kernel, const options& o) {
    if (o.layout == image_layout::channels_last) return {out, kernel.height, kernel.width, in};
    return {out, in, kernel.height, kernel.width};
  }
  static int channel_axis(const options& o) { return o.layout == image_layout::channels_last ? -1 : -3; }
  static std::int64_t area(pair2d kernel) { return kernel.area(); }
  static conv2d_options how(const options& o) { return {o.stride, o.padding, o.dilation, o.groups, o.layout}; }
  static auto widened(const auto& x) { return x; }
  static auto narrowed(const auto& x) { return x; }
};

/// Samples convolved with learned kernels, `weight`.
template <Element T, class D, class Kind>
struct convolution_layer {
  static constexpr std::string_view layer_name = Kind::name;
  std::int64_t in_channels = 0, out_channels = 0;
  typename Kind::window kernel_size = 1;
  typename Kind::options options{};
  Tensor<T, D> weight = init::fan_in<T, D>(
      Kind::sizes(out_channels, channels_of_group(in_channels, options.groups, Kind::name), kernel_size, options),
      inputs());
  Tensor<T, D> bias = options.bias ? init::fan_in<T, D>({out_channels}, inputs()) : Tensor<T, D>();

  /// (N, out_channels, ...), or without N for one sample. Throws shape_error for other channels.
  template <Expression X>
  auto operator()(const X& x) const {
    const dims sizes = shape_of(x);
    expect_rank(*this, sizes, Kind::axes, Kind::axes + 1, Kind::input);
    expect_size(*this, sizes, Kind::channel_axis(options), in_channels);
    const bool alone = sizes.rank() == Kind::axes;
    const auto batch = alone ? unsqueeze(x, 0) : kiln::detail::as_tensor(x);
    const auto y = Kind::narrowed(conv2d(Kind::widened(batch), Kind::widened(weight), bias, Kind::how(options)));
    return watched(this, alone ? squeeze(y, 0) : y);
  }
  std::string settings() const { return convolution_settings(*this); }

 private:
  std::int64_t inputs() const {
    return inputs_of_output(in_channels, options.groups, Kind::area(kernel_size), Kind::name);
  }
};

}  // namespace detail

/// Images (N, in_channels, H, W) convolved with learned kernels, or one without N: torch.nn.Conv2d. `weight` is
/// (out_channels, in_channels / groups, kernel height, kernel width); with `layout` channels_last, images are (N, H, W,
/// in_channels) and `weight` is (out_channels, kernel height, kernel width, in_channels / groups), of a PyTorch model
/// permute(weight, {0, 2, 3, 1}). Throws shape_error for other channels.
template <Element T = float, class D = Cpu>
using Conv2d = detail::convolution_layer<T, D, detail::convolution_2d>;

/// Signals (N, in_channels, L) convolved with learned kernels, or one without N: torch.nn.Conv1d. `weight` is
/// (out_channels, in_channels / groups, kernel). Throws shape_error for other channels.
template <Element T = float, class D = Cpu>
using Conv1d = detail::convolution_layer<T, D, detail::convolution_1d>;

}  // namespace kiln::nn
