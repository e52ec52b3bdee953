// SPDX-License-Identifier: BSL-1.0
// Recurrent layers: RNN, LSTM, GRU, of several layers and in both directions, with PyTorch's weights and names. The
// inputs' products are one product over all times; a step of time is a product with the state and one fused kernel, or
// all steps are one call of the device (nn/functional/lstm.hpp).
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <kiln/nn/convert.hpp>
#include <kiln/nn/functional/dropout.hpp>
#include <kiln/nn/functional/lstm.hpp>
#include <kiln/nn/init.hpp>
#include <kiln/nn/layers/layer.hpp>
#include <kiln/tensor/join.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/turned.hpp>

namespace kiln::nn {

/// What recurrent layers may be told.
struct recurrent_options {
  std::int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;    ///< inputs are (batch, time, ...) and not (time, batch, ...)
  double dropout = 0;          ///< of the results of all layers but the last, in training
  bool bidirectional = false;  ///< a second set of weights reads the times from the last to the first
};

namespace detail {

/// The weights of one layer in one direction.
template <Element T, class D>
struct recurrent_weights {
  Tensor<T, D> weight_ih, weight_hh, bias_ih, bias_hh;
};

/// What the three have in common: weights, walking through layers, directions and times. `Gates` is how many rows of
/// weights a unit has, `states` how many numbers it keeps.
template <class Self, std::int64_t Gates, std::size_t states, Element T, class D>
class recurrent {
 public:
  std::int64_t input_size = 0, hidden_size = 0;
  recurrent_options options{};
  training_flag training{};

  recurrent() = default;
  recurrent(std::int64_t inputs, std::int64_t units, recurrent_options how)
      : input_size(inputs), hidden_size(units), options(how) {
    if (how.num_layers < 1)
      throw value_error(message(short_name<Self>(), ": ", how.num_layers, " layers: use 1 or more"));
    const std::int64_t directions = how.bidirectional ? 2 : 1, rows = count({Gates, units});
    for (std::int64_t l = 0; l < how.num_layers; ++l)
      for (std::int64_t d = 0; d < directions; ++d) {
        recurrent_weights<T, D> w;
        w.weight_ih = init::fan_in<T, D>({rows, l == 0 ? inputs : directions * units}, units);
        w.weight_hh = init::fan_in<T, D>({rows, units}, units);
        if (how.bias) w.bias_ih = init::fan_in<T, D>({rows}, units), w.bias_hh = init::fan_in<T, D>({rows}, units);
        weights_.push_back(std::move(w));
      }
  }
  std::string settings() const {
    std::string text = settings_text("", input_size, "", hidden_size);
    if (options.num_layers != 1) text += ", " + settings_text("num_layers", options.num_layers);
    if (!options.bias) text += ", bias=False";
    if (options.batch_first) text += ", batch_first=True";
    if (options.dropout != 0) text += ", " + settings_text("dropout", options.dropout);
    if (options.bidirectional) text += ", bidirectional=True";
    return text;
  }

  using tensor_type = Tensor<T, D>;
  /// For walks: PyTorch's names, weight_ih_l0, weight_ih_l0_reverse.
  void walk(std::string_view name, visitor& v) const {
    v.enter(name, slot_of_module(*static_cast<const Self*>(this)));
    v.training(training);
    const std::size_t directions = options.bidirectional ? 2 : 1;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const std::string end = "_l" + std::to_string(i / directions) + (i % directions ? "_reverse" : "");
      const recurrent_weights<T, D>& w = weights_[i];
      v.parameter("weight_ih" + end, slot_of(w.weight_ih));
      v.parameter("weight_hh" + end, slot_of(w.weight_hh));
      v.parameter("bias_ih" + end, slot_of(w.bias_ih));
      v.parameter("bias_hh" + end, slot_of(w.bias_hh));
    }
    v.leave();
  }
  static auto members(auto& self) {
    return std::tuple{named("input_size", self.input_size), named("hidden_size", self.hidden_size),
                      named("options", self.options), named("training", self.training),
                      named("weights", self.weights_)};
  }

 protected:
  using X = Tensor<T, D>;
  struct run_result {
    X output;
    std::array<X, states> last;  ///< (layers * directions, batch, hidden_size)
  };

  /// Walks through all layers. States without a tensor begin with zeros; `lengths` without one means all times.
  run_result run(X in, std::array<X, states> initial, const Tensor<std::int64_t, D>& lengths) const {
    expect_rank(
        *static_cast<const Self*>(this), in.sizes(), 2, 3,
        options.batch_first ? "(batch, time, input) or (time, input)" : "(time, batch, input) or (time, input)");
    expect_size(*static_cast<const Self*>(this), in.sizes(), -1, input_size);
    const bool single = in.dim() == 2;
    if (single) {
      in = unsqueeze(in, 1);
      for (X& s : initial)
        if (s.defined()) s = unsqueeze(s, 1);
    } else if (options.batch_first) {
      // The inputs' products, forward and back, are one product over all times where these stand in their order.
      in = in.transpose(0, 1).contiguous();
    }
    const std::int64_t times = in.size(0), batch = in.size(1), directions = options.bidirectional ? 2 : 1;
    if (times == 0)
      throw shape_error(message(printed_layer(*static_cast<const Self*>(this)), ": got an input of no times"));
    for (const X& s : initial)
      if (s.defined() && s.sizes() != dims{options.num_layers * directions, batch, hidden_size})
        throw shape_error(message(printed_layer(*static_cast<const Self*>(this)), ": got a state of shape ", s.sizes(),
                                  "; expected ", dims{options.num_layers * directions, batch, hidden_size}));
    if (lengths.defined() && lengths.sizes() != dims{batch})
      throw shape_error(message(printed_layer(*static_cast<const Self*>(this)), ": got lengths of shape ",
                                lengths.sizes(), "; expected ", dims{batch}, ", one for each sequence"));
    // A GPU would be waited for: there a length beyond the times is all of them, and one below 0 none.
    if constexpr (OnHost<D>)
      for (std::int64_t i = 0; lengths.defined() && i < batch; ++i)
        if (lengths(i) < 0 || lengths(i) > times)
          throw value_error(message(printed_layer(*static_cast<const Self*>(this)), ": got a length of ", lengths(i),
                                    " for sequence ", i, "; expected one from 0 to the number of times, ", times));
    std::array<std::vector<X>, states> last;
    for (std::int64_t l = 0; l < options.num_layers; ++l) {
      std::vector<X> both;
      for (std::int64_t d = 0; d < directions; ++d) {
        const std::int64_t at = l * directions + d;
        std::array<X, states> state;
        for (std::size_t s = 0; s < states; ++s)
          state[s] =
              initial[s].defined() ? initial[s].select(0, at) : zeros<T, D>({batch, hidden_size}, D(in.device()));
        both.push_back(one_direction(weights_[static_cast<std::size_t>(at)], in, state, lengths, d == 1));
        for (std::size_t s = 0; s < states; ++s) last[s].push_back(state[s]);
      }
      in = directions == 2 ? X(cat(both, -1)) : both[0];
      if (options.dropout > 0 && training.on && l + 1 < options.num_layers) in = kiln::dropout(in, options.dropout);
    }
    run_result result{single ? squeeze(in, 1) : options.batch_first ? in.transpose(0, 1) : in, {}};
    for (std::size_t s = 0; s < states; ++s)
      result.last[s] = single ? squeeze(X(stack(last[s])), 1) : X(stack(last[s]));
    return result;
  }

 private:
  X one_direction(const recurrent_weights<T, D>& w, const X& in, std::array<X, states>& state,
                  const Tensor<std::int64_t, D>& lengths, bool backwards) const {
    const X of_inputs = Self::of_inputs(matmul(in, kiln::detail::turned(w.weight_ih)),
                                        or_number(w.bias_ih, w.weight_ih, 0), or_number(w.bias_hh, w.weight_hh, 0));
    if constexpr (requires { Self::all_steps(of_inputs, w.weight_hh, state, lengths, backwards); }) {
      return Self::all_steps(of_inputs, w.weight_hh, state, lengths, backwards);
    } else {
      return by_steps(w, of_inputs, state, lengths, backwards);
    }
  }
  X by_steps(const recurrent_weights<T, D>& w, const X& of_inputs, std::array<X, states>& state,
             const Tensor<std::int64_t, D>& lengths, bool backwards) const {
    const X bias = or_number(w.bias_hh, w.weight_hh, 0), weight = kiln::detail::turned(w.weight_hh);
    const std::int64_t times = of_inputs.size(0);
    std::vector<X> outputs(static_cast<std::size_t>(times));
    for (std::int64_t k = 0; k < times; ++k) {
      const std::int64_t t = backwards ? times - 1 - k : k;
      std::array<X, states> next = Self::step(of_inputs.select(0, t), matmul(state[0], weight), bias, state);
      X& output = outputs[static_cast<std::size_t>(t)];
      output = next[0];
      if (lengths.defined()) {
        // What has ended keeps its state; read backwards, it has not begun.
        const Tensor<bool, D> runs = unsqueeze(lengths > t, 1);
        for (std::size_t s = 0; s < states; ++s) next[s] = where(runs, next[s], state[s]);
        output = where(runs, output, 0);
      }
      state = std::move(next);
    }
    return stack(outputs);
  }

  std::vector<recurrent_weights<T, D>> weights_;
};

}  // namespace detail

/// What RNN and GRU give.
template <class X>
struct rnn_result {
  X output;  ///< (time, batch, directions * hidden_size): the last layer's state at all times
  X hidden;  ///< (layers * directions, batch, hidden_size): every layer's last state
};
/// What LSTM gives.
template <class X>
struct lstm_result {
  X output, hidden;  ///< as rnn_result
  X cell;            ///< (layers * directions, batch, hidden_size)
};

/// tanh(W_ih x + b_ih + W_hh h + b_hh), time after time: torch.nn.RNN.
template <Element T = float, class D = Cpu>
class RNN : public detail::recurrent<RNN<T, D>, 1, 1, T, D> {
  using base = detail::recurrent<RNN<T, D>, 1, 1, T, D>;
  friend base;
  using X = Tensor<T, D>;

 public:
  RNN() = default;
  /// Throws value_error for less than one layer.
  RNN(std::int64_t inputs, std::int64_t units, recurrent_options how = {}) : base(inputs, units, how) {}
  /// `auto [y, h] = rnn(x)` for x (time, batch, input_size), or (batch, time, input_size) with batch_first, or (time,
  /// input_size); h begins with zeros unless given; `lengths` (batch), if given, says where each sequence ends. Throws
  /// shape_error where sizes do not fit, value_error for a length below 0 or beyond the times (not on a GPU).
  rnn_result<X> operator()(const X& x, const X& hidden = {}, const Tensor<std::int64_t, D>& lengths = {}) const {
    auto r = this->run(x, {hidden}, lengths);
    return {detail::watched(this, r.output), r.last[0]};
  }

 private:
  static X of_inputs(const auto& products, const X& bias_ih, const X& bias_hh) { return products + bias_ih + bias_hh; }
  static std::array<X, 1> step(const X& of_inputs, const auto& of_state, const X&, const std::array<X, 1>&) {
    return {tanh(of_inputs + of_state)};
  }
};

/// Long short-term memory (Hochreiter and Schmidhuber 1997), with gates in PyTorch's order input, forget, cell, output:
/// torch.nn.LSTM. On the processor, in float and double, all steps are one node of the graph, which has no second
/// derivative (graph_error).
template <Element T = float, class D = Cpu>
class LSTM : public detail::recurrent<LSTM<T, D>, 4, 2, T, D> {
  using base = detail::recurrent<LSTM<T, D>, 4, 2, T, D>;
  friend base;
  using X = Tensor<T, D>;

 public:
  LSTM() = default;
  /// Throws value_error for less than one layer.
  LSTM(std::int64_t inputs, std::int64_t units, recurrent_options how = {}) : base(inputs, units, how) {}
  /// `auto [y, h, c] = lstm(x)`, as RNN; h and c begin with zeros unless given.
  lstm_result<X> operator()(const X& x, const X& hidden = {}, const X& cell = {},
                            const Tensor<std::int64_t, D>& lengths = {}) const {
    auto r = this->run(x, {hidden, cell}, lengths);
    return {detail::watched(this, r.output), r.last[0], r.last[1]};
  }

 private:
  static X of_inputs(const auto& products, const X& bias_ih, const X& bias_hh) { return products + bias_ih + bias_hh; }
  static X all_steps(const X& of_inputs, const X& weight, std::array<X, 2>& state,
                     const Tensor<std::int64_t, D>& lengths,
                     bool backwards) requires(std::same_as<D, Cpu> &&
                                              (std::same_as<T, float> || std::same_as<T, double>)) {
    auto [out, last_state, last_cell] =
        kiln::detail::lstm_steps(of_inputs, weight, state[0], state[1], lengths, backwards);
    state = {std::move(last_state), std::move(last_cell)};
    return std::move(out);
  }
  static std::array<X, 2> step(const X& of_inputs, const auto& of_state, const X&, const std::array<X, 2>& state) {
    const std::int64_t n = state[0].size(1);
    const X gates = of_inputs + of_state;
    const X cell =
        sigmoid(gates.narrow(1, n, n)) * state[1] + sigmoid(gates.narrow(1, 0, n)) * tanh(gates.narrow(1, 2 * n, n));
    return {X(sigmoid(gates.narrow(1, 3 * n, n)) * tanh(cell)), cell};
  }
};

/// Gated recurrent unit (Cho et al. 2014), with gates in PyTorch's order reset, update, new: torch.nn.GRU.
template <Element T = float, class D = Cpu>
class GRU : public detail::recurrent<GRU<T, D>, 3, 1, T, D> {
  using base = detail::recurrent<GRU<T, D>, 3, 1, T, D>;
  friend base;
  using X = Tensor<T, D>;

 public:
  GRU() = default;
  /// Throws value_error for less than one layer.
  GRU(std::int64_t inputs, std::int64_t units, recurrent_options how = {}) : base(inputs, units, how) {}
  /// `auto [y, h] = gru(x)`, as RNN.
  rnn_result<X> operator()(const X& x, const X& hidden = {}, const Tensor<std::int64_t, D>& lengths = {}) const {
    auto r = this->run(x, {hidden}, lengths);
    return {detail::watched(this, r.output), r.last[0]};
  }

 private:
  // The reset gate weighs what the state's weights and bias give together.
  static X of_inputs(const auto& products, const X& bias_ih, const X&) { return products + bias_ih; }
  static std::array<X, 1> step(const X& of_inputs, const auto& product, const X& bias, const std::array<X, 1>& state) {
    const std::int64_t n = state[0].size(1);
    const X of_state = product + bias;
    const X update = sigmoid(of_inputs.narrow(1, n, n) + of_state.narrow(1, n, n));
    const X fresh = tanh(of_inputs.narrow(1, 2 * n, n) +
                         sigmoid(of_inputs.narrow(1, 0, n) + of_state.narrow(1, 0, n)) * of_state.narrow(1, 2 * n, n));
    return {X((1 - update) * fresh + update * state[0])};
  }
};

#ifdef KILN_COMPILED  // in src/models.cpp
extern template class detail::recurrent<LSTM<float, Cpu>, 4, 2, float, Cpu>;
extern template class LSTM<float, Cpu>;
#endif

}  // namespace kiln::nn
