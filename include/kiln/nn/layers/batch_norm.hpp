// SPDX-License-Identifier: BSL-1.0
// Batch norm as layers, with running statistics as buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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
template <class L, Expression X>
auto batch_normalized(const L& layer, const X& x) {
  auto& m = layer;
  batch_norm_options how{.training = m.training.on || !m.options.track_running_stats, .eps = m.options.eps};
  if (m.training.on && m.options.track_running_stats) {
    ++*m.num_batches_tracked->data();  // a number of the host: no kernel for it
    how.momentum = m.options.momentum ? *m.options.momentum : 1 / static_cast<double>(m.num_batches_tracked->item());
  }
  return watched(&layer, kiln::batch_norm(x, *m.running_mean, *m.running_var, m.weight, m.bias, how));
}
template <class L>
std::string batch_norm_settings(const L& m) {
  return settings_text("", m.num_features, "eps", m.options.eps) +
         (m.options.momentum ? ", " + settings_text("momentum", *m.options.momentum) : ", momentum=None") + ", " +
         settings_text("affine", m.options.affine, "track_running_stats", m.options.track_running_stats);
}
}  // namespace detail

/// Rows (N, C) or signals (N, C, L), each channel shifted and scaled to mean 0 and variance 1: torch.nn.BatchNorm1d.
/// Training uses the batch's statistics and updates the running ones, which are used otherwise.
template <Element T = float, class D = Cpu>
struct BatchNorm1d {
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
    detail::expect_rank(*this, shape_of(x), 2, 3, "rows (N, C) or signals (N, C, L)");
    detail::expect_size(*this, shape_of(x), 1, num_features);
    return detail::batch_normalized(*this, x);
  }
  std::string settings() const { return detail::batch_norm_settings(*this); }
};

/// The same of images (N, C, H, W): torch.nn.BatchNorm2d.
template <Element T = float, class D = Cpu>
struct BatchNorm2d {
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
    detail::expect_rank(*this, shape_of(x), 4, 4, "images (N, C, H, W)");
    detail::expect_size(*this, shape_of(x), 1, num_features);
    return detail::batch_normalized(*this, x);
  }
  std::string settings() const { return detail::batch_norm_settings(*this); }
};

}  // namespace kiln::nn
