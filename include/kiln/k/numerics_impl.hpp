// SPDX-License-Identifier: BSL-1.0
// The definitions of numerics.hpp.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/dynamic/module.hpp>
#include <kiln/k/counting.hpp>
#include <kiln/k/layer_functions.hpp>
#include <kiln/k/norms.hpp>
#include <kiln/k/numerics.hpp>
#include <kiln/k/running.hpp>
#include <kiln/k/window_functions.hpp>
#include <kiln/k/windows.hpp>

namespace kiln::k {

KILN_INLINE dynamic::module function_layer(std::string_view type, const std::vector<option>& given) {
  struct layer_of_function {
    std::string_view name, layer;
    layer_functions::layer_function (*of)(std::string_view, const std::vector<option>&);
  };
  static constexpr auto rows = std::to_array<layer_of_function>({
      {"pad", "Pad", layer_functions::pad_of},
      {"unfold", "Unfold", windows_of::unfold_of},
      {"fold", "Fold", windows_of::fold_of},
      {"upsample", "Upsample", windows_of::interpolate_of},
      {"adaptavg1d", "AdaptiveAvgPool1d", windows_of::adapt_of},
      {"adaptavg3d", "AdaptiveAvgPool3d", windows_of::adapt_of},
      {"adaptmax1d", "AdaptiveMaxPool1d", windows_of::adapt_of},
      {"adaptmax2d", "AdaptiveMaxPool2d", windows_of::adapt_of},
      {"adaptmax3d", "AdaptiveMaxPool3d", windows_of::adapt_of},
      {"randomcrop", "RandomCrop", windows_of::random_crop_of},
      {"randomflip", "RandomFlip", windows_of::random_flip_of},
      {"rrelu", "RReLU", windows_of::random_slopes_of},
  });
  for (const layer_of_function& row : rows)
    if (row.name == type) return dynamic::graph::function_of(std::string(row.layer), row.of(type, given));
  return {};
}

KILN_INLINE void offer_numerics(registry& r) {
  offer_counting(r);
  offer_layer_functions(r);
  offer_norms(r);
  offer_running(r);
  offer_window_functions(r);
  offer_windows(r);
}

}  // namespace kiln::k
