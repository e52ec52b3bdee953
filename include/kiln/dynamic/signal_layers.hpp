// SPDX-License-Identifier: BSL-1.0
// Layers of signals (N, C, L) or (C, L) by name: those of images, of one row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <kiln/dynamic/image_layers.hpp>
#include <kiln/dynamic/images.hpp>
#include <kiln/dynamic/options.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/dynamic/tensor_module.hpp>
#include <kiln/nn/layers/conv.hpp>

namespace kiln::dynamic::graph {

/// A function of images on signals. Throws shape_error for other numbers of axes.
template <class F>
tensor of_signals(std::string_view layer, const tensor& x, const F& f) {
  if (x.dim() != 2 && x.dim() != 3)
    throw shape_error(message(layer, ": got an input of shape ", x.sizes(), "; expected signals (N, C, L) or (C, L)"));
  const tensor row = unsqueeze(x.dim() == 2 ? unsqueeze(x, 0) : x, 2);
  const tensor y = squeeze(f(row), 2);
  return x.dim() == 2 ? squeeze(y, 0) : y;
}
template <Element T>
module conv1d_layer(option_reader& r) {
  const auto kernel = r.need<std::int64_t>("kernel_size"), stride = r.get<std::int64_t>("stride", 1),
             dilation = r.get<std::int64_t>("dilation", 1);
  const auto worded = worded_padding(r, {1, kernel}, {1, stride}, {1, dilation});
  const nn::Conv1d<T> layer{r.need<std::int64_t>("in_channels"),
                            r.need<std::int64_t>("out_channels"),
                            kernel,
                            {.stride = stride,
                             .padding = worded ? worded->width : r.get<std::int64_t>("padding", 0),
                             .dilation = dilation,
                             .groups = r.get<std::int64_t>("groups", 1),
                             .bias = r.get<bool>("bias", true)}};
  const conv2d_options how = nn::detail::convolution_1d::how(layer.options);
  return tensor_layer("Conv1d", layer, [how, n = layer.in_channels](const tensors& in, const tensors& own, bool) {
    expect_input("Conv1d", in[0].sizes(), 2, 3, -2, n, "signals (N, C, L) or (C, L)");
    return of_signals("Conv1d", in[0], [&](const tensor& rows) {
      return conv2d(rows, unsqueeze(own[0], 2), own.size() > 1 ? own[1] : tensor(), how);
    });
  });
}

/// The layer of this name, or one without a value if there is none here.
inline module signal_layer(std::string_view type, option_reader& r) {
  if (type == "Conv1d")
    return with_float_or_double(r.type(), type, [&]<class T>(std::type_identity<T>) { return conv1d_layer<T>(r); });
  const bool largest = type == "MaxPool1d";
  if (!largest && type != "AvgPool1d") return {};
  const auto size = r.need<std::int64_t>("kernel_size");
  const auto stride = r.get<std::int64_t>("stride", size), padding = r.get<std::int64_t>("padding", 0);
  const std::int64_t dilation = largest ? r.get<std::int64_t>("dilation", 1) : 1;
  const bool ceil_mode = r.get<bool>("ceil_mode", false);
  const bool count = !largest && r.get<bool>("count_include_pad", true);
  return function_of(
      std::string(type),
      [=, name = std::string(type)](const tensor& x, bool) {
        return of_signals(name, x, [&](const tensor& rows) {
          if (largest) return max_pool2d(rows, {1, size}, {{1, stride}, {0, padding}, {1, dilation}, ceil_mode});
          return avg_pool2d(rows, {1, size}, {{1, stride}, {0, padding}, ceil_mode, count});
        });
      },
      message("kernel_size=", size, ", stride=", stride, ", padding=", padding));
}

}  // namespace kiln::dynamic::graph
