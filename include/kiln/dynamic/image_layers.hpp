// SPDX-License-Identifier: BSL-1.0
// Layers of images by name: convolutions, poolings, batch norm.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <kiln/dynamic/images.hpp>
#include <kiln/dynamic/module.hpp>
#include <kiln/dynamic/options.hpp>
#include <kiln/nn/layers/batch_norm.hpp>
#include <kiln/nn/layers/conv.hpp>
#include <kiln/nn/layers/pool.hpp>

namespace kiln::dynamic::graph {

template <Element T>
module conv2d_layer(option_reader& r) {
  return module_of<T>("Conv2d", nn::Conv2d<T>{r.need<std::int64_t>("in_channels"),
                                              r.need<std::int64_t>("out_channels"),
                                              r.need<pair2d>("kernel_size"),
                                              {.stride = r.get<pair2d>("stride", 1),
                                               .padding = r.get<pair2d>("padding", 0),
                                               .dilation = r.get<pair2d>("dilation", 1),
                                               .groups = r.get<std::int64_t>("groups", 1),
                                               .bias = r.get<bool>("bias", true)}});
}
inline nn::batch_norm_layer_options batch_norm_layer_options(option_reader& r) {
  return {.eps = r.get<double>("eps", 1e-5),
          .momentum = r.get<double>("momentum", 0.1),
          .affine = r.get<bool>("affine", true),
          .track_running_stats = r.get<bool>("track_running_stats", true)};
}
/// A layer without parameters, for images of float32 and of float64.
template <class M>
module image_function(std::string type, M layer) {
  return {std::move(type), std::make_shared<static_module<M>>(std::move(layer), [](const M& m, const tensor& x) {
            return with_float_or_double(
                x.type(), "a pooling", [&]<class T>(std::type_identity<T>) { return tensor(Tensor<T>(m(x.as<T>()))); });
          })};
}

/// The layer of this name, or one without a value if there is none here.
inline module image_layer(std::string_view type, option_reader& r) {
  const auto of_type = [&](auto make) { return with_float_or_double(r.type(), type, make); };
  if (type == "Conv2d") return of_type([&]<class T>(std::type_identity<T>) { return conv2d_layer<T>(r); });
  if (type == "BatchNorm1d")
    return of_type([&]<class T>(std::type_identity<T>) {
      const auto n = r.need<std::int64_t>("num_features");
      return module_of<T>("BatchNorm1d", nn::BatchNorm1d<T>{n, batch_norm_layer_options(r)});
    });
  if (type == "BatchNorm2d")
    return of_type([&]<class T>(std::type_identity<T>) {
      const auto n = r.need<std::int64_t>("num_features");
      return module_of<T>("BatchNorm2d", nn::BatchNorm2d<T>{n, batch_norm_layer_options(r)});
    });
  if (type == "MaxPool2d") {
    const auto kernel = r.need<pair2d>("kernel_size");
    return image_function("MaxPool2d", nn::MaxPool2d{kernel,
                                                     {.stride = r.get<pair2d>("stride", kernel),
                                                      .padding = r.get<pair2d>("padding", 0),
                                                      .dilation = r.get<pair2d>("dilation", 1),
                                                      .ceil_mode = r.get<bool>("ceil_mode", false)}});
  }
  if (type == "AvgPool2d") {
    const auto kernel = r.need<pair2d>("kernel_size");
    return image_function("AvgPool2d", nn::AvgPool2d{kernel,
                                                     {.stride = r.get<pair2d>("stride", kernel),
                                                      .padding = r.get<pair2d>("padding", 0),
                                                      .ceil_mode = r.get<bool>("ceil_mode", false),
                                                      .count_include_pad = r.get<bool>("count_include_pad", true)}});
  }
  if (type == "AdaptiveAvgPool2d")
    return image_function("AdaptiveAvgPool2d", nn::AdaptiveAvgPool2d{r.need<pair2d>("output_size")});
  return {};
}

}  // namespace kiln::dynamic::graph
