// SPDX-License-Identifier: BSL-1.0
// Norms of each sample by itself: LayerNorm, RMSNorm, GroupNorm, InstanceNorm. They behave the same in training and out
// of it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/expr/reductions.hpp>
#include <kiln/nn/init.hpp>
#include <kiln/nn/layers/layer.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln::nn {

/// The last sizes of an input, as LayerNorm and RMSNorm take them: `{8, 32}`, or one number. Throws as `dims`.
struct normalized_sizes : dims {
  using dims::dims;
  normalized_sizes() = default;
  normalized_sizes(const dims& sizes) : dims(sizes) {}
  template <kiln::detail::SizeLike I>
  normalized_sizes(I size) : dims{kiln::detail::whole_number(size)} {}
};
template <>
inline constexpr bool plain<normalized_sizes> = true;

/// What LayerNorm may be told.
struct layer_norm_options {
  double eps = 1e-5;
  bool elementwise_affine = true;  ///< scale and shift by learned numbers
  bool bias = true;                ///< with elementwise_affine: shift, too
};

namespace detail {
/// The last axes, as many as a shape has. Throws shape_error unless the input ends with that shape.
template <class L>
axes last_axes(const L& layer, const dims& input, const dims& shape) {
  const int skipped = input.rank() - shape.rank();
  bool fits = skipped >= 0 && shape.rank() > 0;
  for (int i = 0; fits && i < shape.rank(); ++i) fits = input[skipped + i] == shape[i];
  if (!fits)
    throw shape_error(message(printed_layer(layer), ": got an input of shape ", input,
                              "; expected one whose last sizes are ", shape));
  std::vector<std::int64_t> last;
  for (int i = 1; i <= shape.rank(); ++i) last.push_back(-i);
  return last;
}
}  // namespace detail

/// (x - mean) / sqrt(variance + eps) over the last axes, of the sizes normalized_shape, scaled and shifted:
/// torch.nn.LayerNorm (Ba, Kiros, Hinton 2016). Lazy.
template <Element T = float, class D = Cpu>
struct LayerNorm {
  normalized_sizes normalized_shape{};
  layer_norm_options options{};
  Tensor<T, D> weight = options.elementwise_affine ? init::constant<T, D>(normalized_shape, 1) : Tensor<T, D>();
  Tensor<T, D> bias =
      options.elementwise_affine && options.bias ? init::constant<T, D>(normalized_shape, 0) : Tensor<T, D>();

  /// Throws shape_error for an input with other last sizes.
  template <Expression X>
  auto operator()(const X& x) const {
    const axes over = detail::last_axes(*this, shape_of(x), normalized_shape);
    return detail::watched(
        this, layer_norm(x, over, options.eps) * detail::or_number(weight, kiln::detail::first_tensor::of(x), 1) +
                  detail::or_number(bias, kiln::detail::first_tensor::of(x), 0));
  }
  std::string settings() const {
    return detail::settings_text("", normalized_shape, "eps", options.eps, "elementwise_affine",
                                 options.elementwise_affine);
  }
};

/// What RMSNorm may be told.
struct rms_norm_options {
  std::optional<double> eps = std::nullopt;  ///< none: the distance from 1 to the next number of the element type
  bool elementwise_affine = true;            ///< scale by learned numbers
};
/// x / sqrt(mean(x^2) + eps) over the last axes, of the sizes normalized_shape, scaled: torch.nn.RMSNorm. Lazy.
template <Element T = float, class D = Cpu>
struct RMSNorm {
  normalized_sizes normalized_shape{};
  rms_norm_options options{};
  Tensor<T, D> weight = options.elementwise_affine ? init::constant<T, D>(normalized_shape, 1) : Tensor<T, D>();

  /// Throws shape_error for an input with other last sizes.
  template <Expression X>
  auto operator()(const X& x) const {
    const axes over = detail::last_axes(*this, shape_of(x), normalized_shape);
    const double eps = options.eps.value_or(static_cast<double>(std::numeric_limits<compute_t<T>>::epsilon()));
    return detail::watched(this,
                           rms_norm(x, over, eps) * detail::or_number(weight, kiln::detail::first_tensor::of(x), 1));
  }
  std::string settings() const {
    return detail::settings_text("", normalized_shape) +
           ", eps=" + (options.eps ? detail::spelled(*options.eps) : "None") + ", " +
           detail::settings_text("elementwise_affine", options.elementwise_affine);
  }
};

/// What GroupNorm may be told.
struct group_norm_options {
  double eps = 1e-5;
  bool affine = true;  ///< scale and shift each channel by learned numbers
};

namespace detail {
/// Norms of groups of the channels of (N, C, ...), and each channel scaled and shifted.
template <class L, Expression X, Element T, class D>
auto group_normalized(const L& layer, const X& x, std::int64_t groups, double eps, const Tensor<T, D>& weight,
                      const Tensor<T, D>& bias) {
  const auto whole = kiln::detail::as_tensor(x);
  const dims sizes = whole.sizes();
  dims beside = dims::filled(sizes.rank() - 1, 1);
  if (weight.defined()) beside[0] = sizes[1];
  std::int64_t each = groups > 0 ? sizes[1] / groups : 0;  // elements of a group, also where the batch is empty
  for (int i = 2; i < sizes.rank(); ++i) each *= sizes[i];
  const Tensor<T, D> rows = layer_norm(whole.reshape(sizes[0], groups, each), -1, eps);
  return watched(&layer, rows.reshape(sizes) * or_number(weight, whole, 1).reshape(beside) +
                             or_number(bias, whole, 0).reshape(beside));
}
}  // namespace detail

/// The channels of (N, C, ...) in groups, each group of a sample shifted and scaled to mean 0 and variance 1:
/// torch.nn.GroupNorm (Wu and He 2018).
template <Element T = float, class D = Cpu>
struct GroupNorm {
  std::int64_t num_groups = 1, num_channels = 0;
  group_norm_options options{};
  Tensor<T, D> weight = options.affine ? init::constant<T, D>({num_channels}, 1) : Tensor<T, D>();
  Tensor<T, D> bias = options.affine ? init::constant<T, D>({num_channels}, 0) : Tensor<T, D>();

  /// Throws shape_error for other channels, value_error if the groups do not divide them.
  template <Expression X>
  auto operator()(const X& x) const {
    if (num_groups < 1 || num_channels % num_groups != 0)
      throw value_error(message(detail::printed_layer(*this), ": the groups must divide the channels"));
    detail::expect_size(*this, shape_of(x), 1, num_channels);
    return detail::group_normalized(*this, x, num_groups, options.eps, weight, bias);
  }
  std::string settings() const {
    return detail::settings_text("", num_groups, "", num_channels, "eps", options.eps, "affine", options.affine);
  }
};

/// What InstanceNorm1d and InstanceNorm2d may be told.
struct instance_norm_options {
  double eps = 1e-5;
  bool affine = false;  ///< scale and shift each channel by learned numbers
};

namespace detail {

/// What an instance norm takes: its name as a layer, and how many axes.
struct instance_norm_1d {
  static constexpr std::string_view name = "InstanceNorm1d", input = "signals (N, C, L)";
  static constexpr int axes = 3;
};
struct instance_norm_2d {
  static constexpr std::string_view name = "InstanceNorm2d", input = "images (N, C, H, W)";
  static constexpr int axes = 4;
};

/// Each channel of each sample shifted and scaled to mean 0 and variance 1.
template <Element T, class D, class Kind>
struct instance_norm_layer {
  static constexpr std::string_view layer_name = Kind::name;
  std::int64_t num_features = 0;
  instance_norm_options options{};
  Tensor<T, D> weight = options.affine ? init::constant<T, D>({num_features}, 1) : Tensor<T, D>();
  Tensor<T, D> bias = options.affine ? init::constant<T, D>({num_features}, 0) : Tensor<T, D>();

  /// Throws shape_error for other channels.
  template <Expression X>
  auto operator()(const X& x) const {
    expect_rank(*this, shape_of(x), Kind::axes, Kind::axes, Kind::input);
    expect_size(*this, shape_of(x), 1, num_features);
    return group_normalized(*this, x, num_features, options.eps, weight, bias);
  }
  std::string settings() const { return settings_text("", num_features, "eps", options.eps, "affine", options.affine); }
};

}  // namespace detail

/// Each channel of each sample (N, C, L) shifted and scaled to mean 0 and variance 1: torch.nn.InstanceNorm1d without
/// running statistics. Throws shape_error for other channels.
template <Element T = float, class D = Cpu>
using InstanceNorm1d = detail::instance_norm_layer<T, D, detail::instance_norm_1d>;
/// The same of images (N, C, H, W): torch.nn.InstanceNorm2d without running statistics.
template <Element T = float, class D = Cpu>
using InstanceNorm2d = detail::instance_norm_layer<T, D, detail::instance_norm_2d>;

}  // namespace kiln::nn
