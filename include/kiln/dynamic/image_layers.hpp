// SPDX-License-Identifier: BSL-1.0
// Layers of images by name: convolutions, poolings, batch norm.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <kiln/dynamic/images.hpp>
#include <kiln/dynamic/module.hpp>
#include <kiln/dynamic/options.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/nn/layers/batch_norm.hpp>
#include <kiln/nn/layers/conv.hpp>
#include <kiln/nn/layers/conv_transpose.hpp>
#include <kiln/nn/layers/pool.hpp>

namespace kiln::dynamic::graph {

/// "padding" of a convolution in words: "valid" is none, "same" as much as keeps the sizes; no value for numbers. Looks
/// at "padding_mode" too.
inline std::optional<pair2d> worded_padding(option_reader& r, pair2d kernel, pair2d stride, pair2d dilation) {
  if (r.get<std::string>("padding_mode", "zeros") != "zeros")
    r.refuse("padding_mode", "is \"zeros\" here: pad before the convolution");
  const std::string* const word = r.text("padding");
  if (!word) return {};
  if (*word == "valid") return pair2d(0);
  if (*word != "same") r.refuse("padding", "is numbers, \"same\" or \"valid\"");
  if (stride != pair2d(1)) r.refuse("padding", "is \"same\", which goes with a stride of 1");
  const std::int64_t high = dilation.height * (kernel.height - 1), wide = dilation.width * (kernel.width - 1);
  if (high % 2 != 0 || wide % 2 != 0)
    r.refuse("padding", "is \"same\", which needs as much on both sides: use an odd kernel, or pad before");
  return pair2d(high / 2, wide / 2);
}
template <Element T>
module conv2d_layer(option_reader& r) {
  using M = nn::Conv2d<T>;
  const auto kernel = r.need<pair2d>("kernel_size"), stride = r.get<pair2d>("stride", 1),
             dilation = r.get<pair2d>("dilation", 1);
  const auto worded = worded_padding(r, kernel, stride, dilation);
  return module_of<T>("Conv2d",
                      M{r.need<std::int64_t>("in_channels"),
                        r.need<std::int64_t>("out_channels"),
                        kernel,
                        {.stride = stride,
                         .padding = worded ? *worded : r.get<pair2d>("padding", 0),
                         .dilation = dilation,
                         .groups = r.get<std::int64_t>("groups", 1),
                         .bias = r.get<bool>("bias", true)}},
                      [](const M& m, const tensor& x, const tensors& parameters, const tensors&) {
                        return conv2d(x, parameters[0], parameters.size() > 1 ? parameters[1] : tensor(),
                                      {.stride = m.options.stride,
                                       .padding = m.options.padding,
                                       .dilation = m.options.dilation,
                                       .groups = m.options.groups});
                      });
}
template <Element T>
module conv_transpose2d_layer(option_reader& r) {
  using M = nn::ConvTranspose2d<T>;
  return module_of<T>("ConvTranspose2d", M{r.need<std::int64_t>("in_channels"),
                                           r.need<std::int64_t>("out_channels"),
                                           r.need<pair2d>("kernel_size"),
                                           {.stride = r.get<pair2d>("stride", 1),
                                            .padding = r.get<pair2d>("padding", 0),
                                            .output_padding = r.get<pair2d>("output_padding", 0),
                                            .groups = r.get<std::int64_t>("groups", 1),
                                            .bias = r.get<bool>("bias", true),
                                            .dilation = r.get<pair2d>("dilation", 1)}});
}
inline nn::batch_norm_layer_options batch_norm_layer_options(option_reader& r) {
  return {.eps = r.get<double>("eps", 1e-5),
          .momentum = r.get<double>("momentum", 0.1),
          .affine = r.get<bool>("affine", true),
          .track_running_stats = r.get<bool>("track_running_stats", true)};
}
/// The momentum is a number here, so how many batches there were matters to nobody; buffers are mean, variance, count.
template <class M>
tensor batch_norm_elsewhere(const M& m, const tensor& x, const tensors& parameters, const tensors& buffers) {
  const bool tracked = m.options.track_running_stats;
  return batch_norm(
      x, tracked ? buffers[0] : tensor(), tracked ? buffers[1] : tensor(),
      parameters.size() > 0 ? parameters[0] : tensor(), parameters.size() > 1 ? parameters[1] : tensor(),
      {.training = m.training.on || !tracked, .momentum = m.options.momentum.value_or(0.1), .eps = m.options.eps});
}
/// A function of images (N, C, H, W), of one (C, H, W) too.
template <class F>
tensor of_images(const tensor& x, const F& f) {
  return x.dim() == 3 ? squeeze(f(unsqueeze(x, 0)), 0) : f(x);
}
/// A layer without parameters, for images of float32 and of float64.
template <class M>
module image_function(std::string type, M layer, typename static_module<M>::elsewhere elsewhere = nullptr) {
  return {std::move(type), std::make_shared<static_module<M>>(
                               std::move(layer),
                               [](const M& m, const tensor& x) {
                                 return with_float_or_double(
                                     x.type(), "a pooling",
                                     [&]<class T>(std::type_identity<T>) { return tensor(Tensor<T>(m(x.as<T>()))); });
                               },
                               elsewhere)};
}

/// The layer of this name, or one without a value if there is none here.
inline module image_layer(std::string_view type, option_reader& r) {
  const auto of_type = [&](auto make) { return with_float_or_double(r.type(), type, make); };
  if (type == "Conv2d") return of_type([&]<class T>(std::type_identity<T>) { return conv2d_layer<T>(r); });
  if (type == "ConvTranspose2d")
    return of_type([&]<class T>(std::type_identity<T>) { return conv_transpose2d_layer<T>(r); });
  if (type == "BatchNorm1d")
    return of_type([&]<class T>(std::type_identity<T>) {
      const auto n = r.need<std::int64_t>("num_features");
      return module_of<T>("BatchNorm1d", nn::BatchNorm1d<T>{n, batch_norm_layer_options(r)},
                          &batch_norm_elsewhere<nn::BatchNorm1d<T>>);
    });
  if (type == "BatchNorm2d")
    return of_type([&]<class T>(std::type_identity<T>) {
      const auto n = r.need<std::int64_t>("num_features");
      return module_of<T>("BatchNorm2d", nn::BatchNorm2d<T>{n, batch_norm_layer_options(r)},
                          &batch_norm_elsewhere<nn::BatchNorm2d<T>>);
    });
  if (type == "MaxPool2d") {
    const auto kernel = r.need<pair2d>("kernel_size");
    return image_function("MaxPool2d",
                          nn::MaxPool2d{kernel,
                                        {.stride = r.get<pair2d>("stride", kernel),
                                         .padding = r.get<pair2d>("padding", 0),
                                         .dilation = r.get<pair2d>("dilation", 1),
                                         .ceil_mode = r.get<bool>("ceil_mode", false)}},
                          [](const nn::MaxPool2d& m, const tensor& x, const tensors&, const tensors&) {
                            return of_images(
                                x, [&](const tensor& images) { return max_pool2d(images, m.kernel_size, m.options); });
                          });
  }
  if (type == "AvgPool2d") {
    const auto kernel = r.need<pair2d>("kernel_size");
    avg_pool2d_options how{.stride = r.get<pair2d>("stride", kernel),
                           .padding = r.get<pair2d>("padding", 0),
                           .ceil_mode = r.get<bool>("ceil_mode", false),
                           .count_include_pad = r.get<bool>("count_include_pad", true)};
    if (r.has("divisor_override")) how.divisor_override = r.need<std::int64_t>("divisor_override");
    return image_function("AvgPool2d", nn::AvgPool2d{kernel, how},
                          [](const nn::AvgPool2d& m, const tensor& x, const tensors&, const tensors&) {
                            return of_images(
                                x, [&](const tensor& images) { return avg_pool2d(images, m.kernel_size, m.options); });
                          });
  }
  if (type == "AdaptiveAvgPool2d")
    return image_function("AdaptiveAvgPool2d", nn::AdaptiveAvgPool2d{r.need<pair2d>("output_size")});
  return {};
}

}  // namespace kiln::dynamic::graph
