// SPDX-License-Identifier: BSL-1.0
// Recurrent layers by name; what they give is the last layer's state at all times, and the states at the end where
// states are given.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <kiln/dynamic/module.hpp>
#include <kiln/dynamic/options.hpp>
#include <kiln/nn/layers/recurrent.hpp>

namespace kiln::dynamic::graph {

/// A recurrent layer: the output for one input; the states at the end as well where states are given, undefined ones
/// for zeros.
template <class M, Element T>
class recurrent_holder final : public module::held {
 public:
  explicit recurrent_holder(M what)
      : inner_(std::move(what), [](const M& m, const tensor& x) { return tensor(m(x.as<T>()).output); }) {}
  tensor forward(const tensor& x) const override { return inner_.forward(x); }
  static constexpr bool cell = requires(const M& m, Tensor<T> x) { m(x).cell; };
  std::size_t most_inputs() const override { return cell ? 3 : 2; }
  tensors run(const tensors& inputs) const override {
    if (inputs.size() == 1) return {forward(inputs[0])};
    if (inputs.empty() || inputs.size() > (cell ? 3 : 2))
      throw value_error(message("a recurrent layer: takes an input and ", cell ? "two states" : "a state", " at most, ",
                                "given ", inputs.size(), " tensors"));
    const auto at = [&](std::size_t i) {
      return i < inputs.size() && inputs[i].defined() ? inputs[i].template as<T>() : Tensor<T>();
    };
    if constexpr (cell) {
      const auto made = inner_.inner()(at(0), at(1), at(2));
      return {made.output, made.hidden, made.cell};
    } else {
      const auto made = inner_.inner()(at(0), at(1));
      return {made.output, made.hidden};
    }
  }
  void move(device where, bool really) override { inner_.move(where, really); }
  void forget_gradients() const override { inner_.forget_gradients(); }
  void train(bool on) override { inner_.train(on); }
  bool training() const override { return inner_.training(); }
  std::string settings() const override { return inner_.settings(); }
  void parameters(const std::string& prefix, module::named_tensors& into) const override {
    inner_.parameters(prefix, into);
  }
  void buffers(const std::string& prefix, module::named_tensors& into) const override { inner_.buffers(prefix, into); }

 private:
  static_module<M> inner_;
};

template <class M, Element T>
module recurrent_module(std::string_view type, option_reader& r) {
  const auto inputs = r.need<std::int64_t>("input_size"), units = r.need<std::int64_t>("hidden_size");
  if (r.get<std::string>("nonlinearity", "tanh") != "tanh") r.refuse("nonlinearity", "is \"tanh\" here");
  const nn::recurrent_options how{.num_layers = r.get<std::int64_t>("num_layers", 1),
                                  .bias = r.get<bool>("bias", true),
                                  .batch_first = r.get<bool>("batch_first", false),
                                  .dropout = r.get<double>("dropout", 0),
                                  .bidirectional = r.get<bool>("bidirectional", false)};
  return {std::string(type), std::make_shared<recurrent_holder<M, T>>(M(inputs, units, how))};
}

/// The layer of this name, or one without a value if there is none here.
inline module recurrent_layer(std::string_view type, option_reader& r) {
  if (type == "LSTM")
    return with_float_or_double(
        r.type(), type, [&]<class T>(std::type_identity<T>) { return recurrent_module<nn::LSTM<T>, T>(type, r); });
  if (type == "RNN")
    return with_float_or_double(
        r.type(), type, [&]<class T>(std::type_identity<T>) { return recurrent_module<nn::RNN<T>, T>(type, r); });
  if (type == "GRU")
    return with_float_or_double(
        r.type(), type, [&]<class T>(std::type_identity<T>) { return recurrent_module<nn::GRU<T>, T>(type, r); });
  return {};
}

}  // namespace kiln::dynamic::graph
