// SPDX-License-Identifier: BSL-1.0
// Batch norm as layers, with running statistics as buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <kiln/nn/buffer.hpp>
#include <kiln/nn/functional/batch_norm.hpp>
#include <kiln/nn/init.hpp>
#include <kiln/nn/layers/layer.hpp>

namespace kiln::nn {

/// What BatchNorm1d and BatchNorm2d may be told.
struct batch_norm_layer_options {
  double eps = 1e-5;
  std::optional<double> momentum =
      0.1;             ///< share of the running statistics that a batch replaces; none: all batches count alike
  bool affine = true;  ///< scale and shift by learned numbers
  bool track_running_stats = true;  ///< keep running statistics, for use out of training
};

namespace detail {

/// What a batch norm takes: its name as a layer, and how many axes.
struct batch_norm_1d {
  static constexpr std::string_view name = "BatchNorm1d", input = "rows (N, C) or signals (N, C, L)";
  static constexpr int least = 2, most = 3;
};
struct batch_norm_2d {
  static constexpr std::string_view name = "BatchNorm2d", input = "images (N, C, H, W)";
  static constexpr int least = 4, most = 4;
};

/// Each channel shifted and scaled to mean 0 and variance 1. Training uses the batch's statistics and updates the
/// running ones, which are used otherwise.
template <Element T, class D, class Kind>
struct batch_norm_layer {
  static constexpr std::string_view layer_name = Kind::name;
  std::int64_t num_features = 0;
  batch_norm_layer_options options{};
  Tensor<T, D> weight = options.affine ? init::constant<T, D>({num_features}, 1) : Tensor<T, D>();
  Tensor<T, D> bias = options.affine ? init::constant<T, D>({num_features}, 0) : Tensor<T, D>();
  buffer<Tensor<T, D>> running_mean = options.track_running_stats ? zeros<T, D>({num_features}) : Tensor<T, D>();
  buffer<Tensor<T, D>> running_var = options.track_running_stats ? ones<T, D>({num_features}) : Tensor<T, D>();
  buffer<Tensor<std::int64_t>> num_batches_tracked = zeros<std::int64_t>(dims{});
  training_flag training{};

  /// Throws shape_error for other channels, and in training for one element per channel.
  template <Expression X>
  auto operator()(const X& x) const {
    expect_rank(*this, shape_of(x), Kind::least, Kind::most, Kind::input);
    expect_size(*this, shape_of(x), 1, num_features);
    batch_norm_options how{.training = training.on || !options.track_running_stats, .eps = options.eps};
    if (training.on && options.track_running_stats) {
      ++*num_batches_tracked->data();  // a number of the host: no kernel for it
      how.momentum = options.momentum ? *options.momentum : 1 / static_cast<double>(num_batches_tracked->item());
    }
    return watched(this, kiln::batch_norm(x, *running_mean, *running_var, weight, bias, how));
  }
  std::string settings() const {
    return settings_text("", num_features, "eps", options.eps) +
           (options.momentum ? ", " + settings_text("momentum", *options.momentum) : ", momentum=None") + ", " +
           settings_text("affine", options.affine, "track_running_stats", options.track_running_stats);
  }
};

}  // namespace detail

/// Rows (N, C) or signals (N, C, L), each channel shifted and scaled to mean 0 and variance 1: torch.nn.BatchNorm1d.
/// Training uses the batch's statistics and updates the running ones, which are used otherwise. Throws shape_error for
/// other channels, and in training for one element per channel.
template <Element T = float, class D = Cpu>
using BatchNorm1d = detail::batch_norm_layer<T, D, detail::batch_norm_1d>;

/// The same of images (N, C, H, W): torch.nn.BatchNorm2d.
template <Element T = float, class D = Cpu>
using BatchNorm2d = detail::batch_norm_layer<T, D, detail::batch_norm_2d>;

}  // namespace kiln::nn
