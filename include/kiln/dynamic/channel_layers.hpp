// SPDX-License-Identifier: BSL-1.0
// Layers by name that treat channels, (N, C, ...), each by itself or in groups: group and instance norms, slopes, and
// dropout of whole channels or whole samples.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <kiln/dynamic/creation.hpp>
#include <kiln/dynamic/images.hpp>
#include <kiln/dynamic/operators.hpp>
#include <kiln/dynamic/options.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/dynamic/tensor_module.hpp>
#include <kiln/nn/layers/activation.hpp>
#include <kiln/nn/layers/normalization.hpp>

namespace kiln::dynamic::graph {

/// A number for each channel, as it stands beside (N, C, ...).
inline tensor beside_channels(const tensor& x, int rank) {
  dims sizes = dims::filled(rank - 1, 1);
  sizes[0] = x.numel();
  return reshape(x, sizes);
}
/// Groups of the channels of each sample shifted and scaled to mean 0 and variance 1, then each channel by its own
/// numbers, if there are some.
inline tensor group_norm(const tensor& x, std::int64_t groups, double eps, const tensors& own) {
  const dims sizes = x.sizes();
  const std::int64_t all = sizes[0] * groups, axis = -1;
  tensor y = reshape(layer_norm(reshape(x, {sizes[0], groups, all ? x.numel() / all : 0}), {&axis, 1}, eps), sizes);
  if (own.size() < 2) return y;
  return y * beside_channels(own[0], sizes.rank()) + beside_channels(own[1], sizes.rank());
}
template <Element T>
module group_norm_layer(option_reader& r) {
  const auto groups = r.need<std::int64_t>("num_groups"), channels = r.need<std::int64_t>("num_channels");
  if (groups < 1 || channels % groups != 0)
    r.refuse("num_groups", message("is ", groups, ", which does not divide ", channels, " channels"));
  const nn::GroupNorm<T> layer{
      groups, channels, {.eps = r.get<double>("eps", 1e-5), .affine = r.get<bool>("affine", true)}};
  return tensor_layer("GroupNorm", layer,
                      [groups, channels, eps = layer.options.eps](const tensors& in, const tensors& own, bool) {
                        expect_input("GroupNorm", in[0].sizes(), 2, max_rank, 1, channels, "(N, C, ...)");
                        return group_norm(in[0], groups, eps, own);
                      });
}
template <class M>
module instance_norm_layer(option_reader& r, int axes) {
  const auto channels = r.need<std::int64_t>("num_features");
  if (r.get<bool>("track_running_stats", false))
    r.refuse("track_running_stats", "is false here: an instance norm takes the statistics of its input");
  static_cast<void>(r.get<double>("momentum", 0.1));  // of running statistics
  const M layer{channels, {.eps = r.get<double>("eps", 1e-5), .affine = r.get<bool>("affine", false)}};
  return tensor_layer(std::string(M::layer_name), layer,
                      [channels, axes, eps = layer.options.eps](const tensors& in, const tensors& own, bool) {
                        expect_input(M::layer_name, in[0].sizes(), axes, axes, 1, channels,
                                     axes == 3 ? "signals (N, C, L)" : "images (N, C, H, W)");
                        return group_norm(in[0], channels, eps, own);
                      });
}
template <Element T>
module prelu_layer(option_reader& r) {
  const auto n = r.get<std::int64_t>("num_parameters", 1);
  if (n < 1) r.refuse("num_parameters", "is 1 or more");
  const nn::PReLU<T> layer{n, r.get<double>("init", 0.25)};
  return tensor_layer("PReLU", layer, [n](const tensors& in, const tensors& own, bool) {
    const tensor& x = in[0];
    if (n > 1) expect_input("PReLU", x.sizes(), 2, max_rank, 1, n, "(N, C, ...)");
    const tensor slope = n > 1 ? beside_channels(own[0], x.dim()) : reshape(own[0], dims{});
    return call("where", {call("lt", {x, scalar(0)}), x * slope, x});
  });
}
/// In training, all that lies behind the first axes is 0 with probability p, else divided by 1 - p.
inline tensor drop_behind(const tensor& x, int axes, double p, bool training) {
  if (!training || p == 0) return x;
  if (x.dim() < axes)
    throw shape_error(message("dropout of ", axes == 1 ? "samples" : "channels", ": got an input of shape ", x.sizes(),
                              "; expected ", axes, " axes or more"));
  dims sizes = dims::filled(x.dim(), 1);
  for (int i = 0; i < axes; ++i) sizes[i] = x.sizes()[i];
  const tensor kept = dropout(full(sizes, 1.0, x.type()), p, true).to(x.device());
  return x * kept;
}

/// The layer of this name, or one without a value if there is none here.
inline module channel_layer(std::string_view type, option_reader& r) {
  const auto of_type = [&](auto make) { return with_float_or_double(r.type(), type, make); };
  if (type == "GroupNorm") return of_type([&]<class T>(std::type_identity<T>) { return group_norm_layer<T>(r); });
  if (type == "InstanceNorm1d")
    return of_type([&]<class T>(std::type_identity<T>) { return instance_norm_layer<nn::InstanceNorm1d<T>>(r, 3); });
  if (type == "InstanceNorm2d")
    return of_type([&]<class T>(std::type_identity<T>) { return instance_norm_layer<nn::InstanceNorm2d<T>>(r, 4); });
  if (type == "PReLU") return of_type([&]<class T>(std::type_identity<T>) { return prelu_layer<T>(r); });
  if (type == "Dropout2d" || type == "Dropout3d" || type == "DropPath") {
    const double p = r.get<double>("p", type == "DropPath" ? 0 : 0.5);
    if (!(p >= 0 && p <= 1)) r.refuse("p", "is a probability: use one from 0 to 1");
    const int axes = type == "DropPath" ? 1 : 2;
    return function_of(
        std::string(type), [=](const tensor& x, bool training) { return drop_behind(x, axes, p, training); },
        message("p=", p));
  }
  return {};
}

}  // namespace kiln::dynamic::graph
