// SPDX-License-Identifier: BSL-1.0
// Layers that change shapes alone.
#pragma once

#include <cstdint>
#include <string>

#include <kiln/nn/layers/layer.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln::nn {

/// Axes start_dim to end_dim (both included) as one: torch.nn.Flatten.
struct Flatten {
  std::int64_t start_dim = 1, end_dim = -1;
  /// Throws index_error, value_error as flatten.
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, flatten(x, start_dim, end_dim));
  }
  std::string settings() const { return detail::settings_text("start_dim", start_dim, "end_dim", end_dim); }
};

/// One axis as several: torch.nn.Unflatten.
struct Unflatten {
  std::int64_t dim = 1;
  dims unflattened_size{};
  /// Throws shape_error if the sizes do not make up the axis; one may be -1.
  template <Expression X>
  auto operator()(const X& x) const {
    const dims sizes = shape_of(x);
    const int at = normalize_axis(dim, sizes.rank(), "Unflatten");
    const dims parts = kiln::detail::resolved_sizes({sizes[at]}, unflattened_size, "Unflatten");
    dims all;
    for (int i = 0; i < at; ++i) all.push_back(sizes[i]);
    for (const std::int64_t n : parts) all.push_back(n);
    for (int i = at + 1; i < sizes.rank(); ++i) all.push_back(sizes[i]);
    return detail::watched(this, reshape(x, all));
  }
  std::string settings() const { return detail::settings_text("dim", dim, "unflattened_size", unflattened_size); }
};

}  // namespace kiln::nn
