// SPDX-License-Identifier: BSL-1.0
// The definitions of modules.hpp.
#pragma once

#include <kiln/dynamic/channel_layers.hpp>
#include <kiln/dynamic/image_layers.hpp>
#include <kiln/dynamic/layers.hpp>
#include <kiln/dynamic/modules.hpp>
#include <kiln/dynamic/recurrent_layers.hpp>
#include <kiln/dynamic/signal_layers.hpp>

namespace kiln::dynamic {

KILN_INLINE module make_module(std::string_view type, const options& how) {
  option_reader r{std::string(type), how};
  for (const auto make :
       {&graph::plain_layer, &graph::image_layer, &graph::signal_layer, &graph::channel_layer, &graph::recurrent_layer})
    if (const module made = make(type, r); made.defined()) {
      r.finish();
      return made;
    }
  std::string known;
  for (const graph::element_layer& layer : graph::element_layers()) known += message(layer.layer, ", ");
  throw value_error(
      message("make_module: there is no \"", type, "\": known are Linear, Bilinear, LayerNorm, GroupNorm, ",
              "InstanceNorm1d, InstanceNorm2d, BatchNorm1d, BatchNorm2d, Embedding, Dropout, Dropout2d, Dropout3d, ",
              "DropPath, Flatten, Identity, Conv1d, Conv2d, ConvTranspose2d, MaxPool1d, MaxPool2d, AvgPool1d, ",
              "AvgPool2d, AdaptiveAvgPool2d, LSTM, GRU, RNN, GELU, GLU, PReLU, Softmax, LogSoftmax, Softmin, ", known,
              "and sequential() of these"));
}

}  // namespace kiln::dynamic
