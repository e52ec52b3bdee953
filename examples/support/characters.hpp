// SPDX-License-Identifier: BSL-1.0
// A text for a model that guesses its next character: the bytes that occur in it as numbers, cut into windows to learn
// from (the first nine tenths) and to be judged on; the training loop, and what a trained model goes on to write.
#pragma once

#include "learning_curve.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "run_state.hpp"
#include "train_digits.hpp"

#include <kiln/kiln.hpp>

#include <kiln/data/data_loader.hpp>
#include <kiln/data/tensor_dataset.hpp>
#include <kiln/nn/loss/cross_entropy.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/optim/gradients.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace support {

using windows = kiln::data::TensorDataset<Tensor<std::int64_t>, Tensor<std::int64_t>>;

struct text_data {
  std::string alphabet;  ///< the characters that occur, in order
  std::vector<std::int64_t> numbers;
  std::int64_t train;  ///< how many of them are to learn from

  /// Reads a file. Throws kiln::io_error if it is not there, value_error if it is too short for `needed` characters.
  text_data(const std::string& file, std::int64_t needed);
  /// Windows of `length` characters each, one behind the other, and the characters that follow each.
  windows cut(std::int64_t from, std::int64_t to, std::int64_t length) const;
};

/// One of 0, 1 ..., each with its chance; these add up to 1.
std::int64_t drawn(const Tensor<float>& chances, std::mt19937_64& bits);

/// The mean cross-entropy of the next character, in nats.
template <class D>
Tensor<float, D> next_character_loss(const auto& net, const Tensor<std::int64_t, D>& x,
                                     const Tensor<std::int64_t, D>& y) {
  const Tensor<float, D> scores = net(x);  // (batch, time, characters)
  return kiln::nn::cross_entropy(scores.reshape({-1, scores.size(2)}), y.reshape({-1}));
}

/// What the model writes behind `start`, each character drawn with the probability that it gives it.
template <class D>
std::string written(const auto& net, const text_data& text, std::int64_t count, std::int64_t window) {
  const kiln::no_grad quiet;
  std::mt19937_64 bits(1);
  std::vector<std::int64_t> all(text.numbers.begin(), text.numbers.begin() + window);
  std::string out;
  while (static_cast<std::int64_t>(out.size()) < count) {
    auto last = kiln::empty<std::int64_t>({1, window});
    std::copy(all.end() - window, all.end(), last.data());
    const Tensor<float, D> scores = net(on<D>(last));
    const Tensor<float, D> p = softmax(scores[0][-1], 0);
    const std::int64_t next = drawn(p.to(kiln::Cpu{}), bits);
    all.push_back(next);
    out += text.alphabet[static_cast<std::size_t>(next)];
  }
  return out;
}

/// Trains `net` on the text and prints how it goes and what it writes. The last line is validation_loss=.
template <class D>
void train_characters(auto& net, auto& opt, const text_data& text, std::int64_t window, const options& with) {
  const windows train = text.cut(0, text.train, window);
  const windows test = text.cut(text.train, static_cast<std::int64_t>(text.numbers.size()), window);
  std::cout << "data: " << with.data << " (" << text.numbers.size() << " characters, " << text.alphabet.size()
            << " different)\n";
  kiln::data::DataLoader batches(train, {.batch_size = with.batch, .shuffle = true, .seed = with.seed});
  const auto judged = [&] {
    const kiln::no_grad quiet;
    kiln::nn::eval(net);
    double sum = 0;
    for (const auto& [x, y] : kiln::data::DataLoader(test, {.batch_size = with.batch}))
      sum += next_character_loss<D>(net, on<D>(x), on<D>(y)).template item<double>() * static_cast<double>(x.size(0));
    kiln::nn::train(net);
    return sum / static_cast<double>(test.size());
  };

  progress show(with.epochs, static_cast<std::size_t>(train.size() * window), std::cout, on_terminal(), "characters");
  learning_curve curve{{"training_loss", "validation_loss"}};
  run_state state(with, net, opt);
  for (const std::int64_t epoch : state.epochs(curve, show)) {
    batches.set_epoch(static_cast<std::uint64_t>(epoch));
    show.begin_epoch();
    for (const auto& [x, y] : batches) {
      const Tensor<float, D> loss = next_character_loss<D>(net, on<D>(x), on<D>(y));
      opt.zero_grad();
      backward(loss);
      kiln::optim::clip_grad_norm(opt, 1.0);
      opt.step();
      const double value = loss.template item<double>();
      if (!std::isfinite(value))
        throw kiln::value_error("the loss is no longer finite; the steps are too large, try a smaller --lr");
      show.step(value, static_cast<std::size_t>(x.numel()));
    }
    const double seconds = show.seconds(), reached = judged();
    curve.add({show.mean_loss(), reached});
    show.end_epoch("validation loss", reached, seconds);
    state.keep(epoch + 1);
  }
  if (!with.picture.empty()) std::cout << draw_curve(curve, with.picture) << '\n';
  std::cout << written<D>(net, text, 200, window) << '\n';
  std::printf("validation_loss=%.4f\n", judged());
}

}  // namespace support

// What makes the batches is compiled once, in characters.cpp.
extern template class kiln::data::DataLoader<support::windows>;
