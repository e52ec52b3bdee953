// SPDX-License-Identifier: BSL-1.0
// What the program learns with: a small GPT. Characters and places become vectors, a few transformer layers see what
// came before, and each place is asked for the next character.
#pragma once

#include "../support/characters.hpp"

#include <kiln/nn/layers/embedding.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/layers/transformer.hpp>
#include <kiln/optim/adam.hpp>

namespace char_gpt {

inline constexpr std::int64_t window = 64, width = 96, heads = 4, layers = 3;

/// The layers, and a last norm. (In braces within Gpt they stop g++ 12 with an internal error.)
template <class D>
kiln::nn::TransformerEncoder<float, D> blocks_of_gpt() {
  return {width,
          heads,
          layers,
          {.dim_feedforward = 4 * width,
           .dropout = 0,
           .activation = kiln::nn::feed_forward_activation::gelu,
           .batch_first = true,
           .norm_first = true},
          true};
}

template <class D>
struct Gpt {
  std::int64_t characters = 0;
  kiln::nn::Embedding<float, D> character{characters, width}, place{window, width};
  kiln::nn::TransformerEncoder<float, D> blocks = blocks_of_gpt<D>();
  kiln::nn::Linear<float, D> scores{width, characters};
  kiln::Tensor<float, D> operator()(const kiln::Tensor<std::int64_t, D>& x) const {
    const auto times = kiln::arange<std::int64_t>(std::int64_t{0}, x.size(1), std::int64_t{1}, D{});
    const kiln::Tensor<float, D> in = character(x) + place(times);
    return scores(blocks(in, kiln::nn::causal_mask<float>(x.size(1), D{})));
  }
};

template <class D>
void run(const support::options& with) {
  const support::text_data text(with.data, window);
  Gpt<D> net{static_cast<std::int64_t>(text.alphabet.size())};
  kiln::optim::AdamW opt(kiln::nn::parameters(net), {.lr = with.learning_rate});
  support::train_characters<D>(net, opt, text, window, with);
}

/// In cuda.cpp, so that each file compiles kernels for one device.
void run_on_cuda(const support::options& with);

}  // namespace char_gpt
