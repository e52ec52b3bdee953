// SPDX-License-Identifier: BSL-1.0
// Dropout of elements and of channels, in training only.
#pragma once

#include <string>

#include <kiln/nn/buffer.hpp>
#include <kiln/nn/functional/dropout.hpp>
#include <kiln/nn/layers/layer.hpp>

namespace kiln::nn {

namespace detail {
/// The training_flag of a layer that drops: its p is looked at where the layer is made.
inline training_flag dropping(double p, const char* layer) {
  kiln::detail::check_probability(p, layer);
  return {};
}
}  // namespace detail

/// In training each element is 0 with probability p, else divided by 1 - p: torch.nn.Dropout. Lazy, and no mask is
/// stored. Throws value_error, where it is made and where it is called, for a p outside [0, 1].
struct Dropout {
  double p = 0.5;
  training_flag training = detail::dropping(p, "Dropout");
  /// Throws value_error for a p outside [0, 1].
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, dropout(x, p, training.on));
  }
  std::string settings() const { return detail::settings_text("p", p) + ", inplace=False"; }
};

/// In training each channel (N, C, ...) is 0 with probability p, else divided by 1 - p: torch.nn.Dropout2d.
/// Throws as Dropout.
struct Dropout2d {
  double p = 0.5;
  training_flag training = detail::dropping(p, "Dropout2d");
  /// Throws value_error for a p outside [0, 1], shape_error for fewer than two axes.
  template <Expression X>
  auto operator()(const X& x) const {
    const dims sizes = shape_of(x);
    detail::expect_rank(*this, sizes, 2, max_rank, "a batch of channels, (N, C, ...)");
    dims channels = dims::filled(sizes.rank(), 1);
    channels[0] = sizes[0], channels[1] = sizes[1];
    using T = typename X::value_type;
    const auto all = ones<T, typename X::device_type>(channels, kiln::detail::device_of(x));
    return detail::watched(this, x * kiln::detail::as_tensor(dropout(all, p, training.on)));
  }
  std::string settings() const { return detail::settings_text("p", p) + ", inplace=False"; }
};

}  // namespace kiln::nn
