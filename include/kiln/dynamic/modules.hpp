// SPDX-License-Identifier: BSL-1.0
// Modules from descriptions: make_module("Linear", {{"in_features", 2}, {"out_features", 3}}).
#pragma once

#include <string>
#include <string_view>

#include <kiln/dynamic/image_layers.hpp>
#include <kiln/dynamic/layers.hpp>
#include <kiln/dynamic/recurrent_layers.hpp>

namespace kiln::dynamic {

/// The layer that torch.nn has by this name, with its options by their names there; parameters are float32, or of
/// "dtype". Sequences are made by sequential(). Throws value_error for an unknown name, an option that the layer does
/// not have or needs and was not given, and otherwise as the layer does.
inline module make_module(std::string_view type, const options& how = {}) {
  option_reader r{std::string(type), how};
  for (const auto make : {&graph::plain_layer, &graph::image_layer, &graph::recurrent_layer})
    if (const module made = make(type, r); made.defined()) {
      r.finish();
      return made;
    }
  std::string known;
  for (const graph::element_layer& layer : graph::element_layers()) known += message(layer.layer, ", ");
  throw value_error(message("make_module: there is no \"", type,
                            "\": known are Linear, LayerNorm, Embedding, Dropout, ",
                            "Flatten, Identity, Conv2d, MaxPool2d, AvgPool2d, AdaptiveAvgPool2d, BatchNorm1d, ",
                            "BatchNorm2d, LSTM, GRU, GELU, Softmax, LogSoftmax, ", known, "and sequential() of these"));
}

}  // namespace kiln::dynamic
