// SPDX-License-Identifier: BSL-1.0
// What the program learns with: an embedding of characters, an LSTM, and scores of the next one.
#pragma once

#include "../support/characters.hpp"

#include <kiln/nn/layers/embedding.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/layers/recurrent.hpp>
#include <kiln/optim/adam.hpp>

namespace char_lstm {

inline constexpr std::int64_t window = 64, width = 64, units = 192;

template <class D>
struct Model {
  std::int64_t characters = 0;
  kiln::nn::Embedding<float, D> embedding{characters, width};
  kiln::nn::LSTM<float, D> lstm{width, units, {.batch_first = true}};
  kiln::nn::Linear<float, D> scores{units, characters};
  kiln::Tensor<float, D> operator()(const kiln::Tensor<std::int64_t, D>& x) const {
    return scores(lstm(embedding(x)).output);
  }
};

template <class D>
void run(const support::options& with) {
  const support::text_data text(with.data, window);
  Model<D> net{static_cast<std::int64_t>(text.alphabet.size())};
  kiln::optim::Adam opt(kiln::nn::parameters(net), {.lr = with.learning_rate});
  support::train_characters<D>(net, opt, text, window, with);
}

/// In cuda.cpp, so that each file compiles kernels for one device.
void run_on_cuda(const support::options& with);

}  // namespace char_lstm
