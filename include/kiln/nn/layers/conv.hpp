// SPDX-License-Identifier: BSL-1.0
// Convolutions as layers: Conv1d, Conv2d.
#pragma once

#include <cstdint>
#include <string>

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
};
/// What Conv1d may be told.
struct conv1d_layer_options {
  std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  bool bias = true;
};

namespace detail {
/// Channels that one group has. Throws value_error if the groups do not divide them.
inline std::int64_t channels_of_group(std::int64_t channels, std::int64_t groups, const char* layer) {
  if (groups < 1 || channels % groups != 0)
    throw value_error(message(layer, ": ", channels, " channels in ", groups,
                              " groups: the number of groups must be 1 or more and divide the channels"));
  return channels / groups;
}
}  // namespace detail

/// Images (N, in_channels, H, W) convolved with learned kernels: torch.nn.Conv2d. `weight` is (out_channels,
/// in_channels / groups, kernel height, kernel width).
template <Element T = float, class D = Cpu>
struct Conv2d {
  std::int64_t in_channels = 0, out_channels = 0;
  pair2d kernel_size = 1;
  conv2d_layer_options options{};
  Tensor<T, D> weight =
      init::fan_in<T, D>({out_channels, detail::channels_of_group(in_channels, options.groups, "Conv2d"),
                          kernel_size.height, kernel_size.width},
                         in_channels / options.groups * kernel_size.area());
  Tensor<T, D> bias = options.bias
                          ? init::fan_in<T, D>({out_channels}, in_channels / options.groups * kernel_size.area())
                          : Tensor<T, D>();

  /// (N, out_channels, H', W'), or without N for one image. Throws shape_error for other channels.
  template <Expression X>
  auto operator()(const X& x) const {
    const dims sizes = shape_of(x);
    detail::expect_rank(*this, sizes, 3, 4, "images (N, C, H, W) or (C, H, W)");
    detail::expect_size(*this, sizes, -3, in_channels);
    const conv2d_options how{options.stride, options.padding, options.dilation, options.groups};
    if (sizes.rank() == 3) return detail::watched(this, squeeze(conv2d(unsqueeze(x, 0), weight, bias, how), 0));
    return detail::watched(this, conv2d(x, weight, bias, how));
  }
  /// As PyTorch prints it: what is not the default is named.
  std::string settings() const {
    std::string text =
        detail::settings_text("", in_channels, "", out_channels, "kernel_size", kernel_size, "stride", options.stride);
    if (options.padding != pair2d(0)) text += ", " + detail::settings_text("padding", options.padding);
    if (options.dilation != pair2d(1)) text += ", " + detail::settings_text("dilation", options.dilation);
    if (options.groups != 1) text += ", " + detail::settings_text("groups", options.groups);
    return options.bias ? text : text + ", bias=False";
  }
};

/// Signals (N, in_channels, L) convolved with learned kernels: torch.nn.Conv1d. `weight` is (out_channels,
/// in_channels / groups, kernel).
template <Element T = float, class D = Cpu>
struct Conv1d {
  std::int64_t in_channels = 0, out_channels = 0, kernel_size = 1;
  conv1d_layer_options options{};
  Tensor<T, D> weight =
      init::fan_in<T, D>({out_channels, detail::channels_of_group(in_channels, options.groups, "Conv1d"), kernel_size},
                         in_channels / options.groups * kernel_size);
  Tensor<T, D> bias =
      options.bias ? init::fan_in<T, D>({out_channels}, in_channels / options.groups * kernel_size) : Tensor<T, D>();

  /// (N, out_channels, L'), or without N for one signal. Throws shape_error for other channels.
  template <Expression X>
  auto operator()(const X& x) const {
    const dims sizes = shape_of(x);
    detail::expect_rank(*this, sizes, 2, 3, "signals (N, C, L) or (C, L)");
    detail::expect_size(*this, sizes, -2, in_channels);
    const conv2d_options how{{1, options.stride}, {0, options.padding}, {1, options.dilation}, options.groups};
    const auto signals = sizes.rank() == 2 ? unsqueeze(x, 0) : kiln::detail::as_tensor(x);
    const auto y = squeeze(conv2d(unsqueeze(signals, 2), unsqueeze(weight, 2), bias, how), 2);
    return detail::watched(this, sizes.rank() == 2 ? squeeze(y, 0) : y);
  }
  std::string settings() const {
    std::string text = detail::settings_text("", in_channels, "", out_channels, "kernel_size", dims{kernel_size},
                                             "stride", dims{options.stride});
    if (options.padding != 0) text += ", " + detail::settings_text("padding", dims{options.padding});
    if (options.dilation != 1) text += ", " + detail::settings_text("dilation", dims{options.dilation});
    if (options.groups != 1) text += ", " + detail::settings_text("groups", options.groups);
    return options.bias ? text : text + ", bias=False";
  }
};

}  // namespace kiln::nn
