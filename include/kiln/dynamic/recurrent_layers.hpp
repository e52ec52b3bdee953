// SPDX-License-Identifier: BSL-1.0
// Recurrent layers by name; what they give is the last layer's state at all times.
#pragma once

#include <string>
#include <string_view>

#include <kiln/dynamic/module.hpp>
#include <kiln/dynamic/options.hpp>
#include <kiln/nn/layers/recurrent.hpp>

namespace kiln::dynamic::graph {

template <class M, Element T>
module recurrent_module(std::string_view type, option_reader& r) {
  const auto inputs = r.need<std::int64_t>("input_size"), units = r.need<std::int64_t>("hidden_size");
  const nn::recurrent_options how{.num_layers = r.get<std::int64_t>("num_layers", 1),
                                  .bias = r.get<bool>("bias", true),
                                  .batch_first = r.get<bool>("batch_first", false),
                                  .dropout = r.get<double>("dropout", 0),
                                  .bidirectional = r.get<bool>("bidirectional", false)};
  return {std::string(type), std::make_shared<static_module<M>>(M(inputs, units, how), [](const M& m, const tensor& x) {
            return tensor(m(x.as<T>()).output);
          })};
}

/// The layer of this name, or one without a value if there is none here.
inline module recurrent_layer(std::string_view type, option_reader& r) {
  if (type == "LSTM")
    return with_float_or_double(
        r.type(), type, [&]<class T>(std::type_identity<T>) { return recurrent_module<nn::LSTM<T>, T>(type, r); });
  if (type == "GRU")
    return with_float_or_double(
        r.type(), type, [&]<class T>(std::type_identity<T>) { return recurrent_module<nn::GRU<T>, T>(type, r); });
  return {};
}

}  // namespace kiln::dynamic::graph
