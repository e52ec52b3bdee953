// SPDX-License-Identifier: BSL-1.0
// The definitions of modules.hpp.
#pragma once

#include <kiln/dynamic/image_layers.hpp>
#include <kiln/dynamic/layers.hpp>
#include <kiln/dynamic/modules.hpp>
#include <kiln/dynamic/recurrent_layers.hpp>

namespace kiln::dynamic {

KILN_INLINE module make_module(std::string_view type, const options& how) {
  option_reader r{std::string(type), how};
  for (const auto make : {&graph::plain_layer, &graph::image_layer, &graph::recurrent_layer})
    if (const module made = make(type, r); made.defined()) {
      r.finish();
      return made;
    }
  std::string known;
  for (const graph::element_layer& layer : graph::element_layers()) known += message(layer.layer, ", ");
  throw value_error(
      message("make_module: there is no \"", type, "\": known are Linear, LayerNorm, Embedding, Dropout, ",
              "Flatten, Identity, Conv2d, MaxPool2d, AvgPool2d, AdaptiveAvgPool2d, BatchNorm1d, ",
              "BatchNorm2d, LSTM, GRU, RNN, GELU, Softmax, LogSoftmax, ", known, "and sequential() of these"));
}

}  // namespace kiln::dynamic
