// SPDX-License-Identifier: BSL-1.0
// The training loop of the programs that learn to tell images: batches from a loader, cross-entropy, a progress line, a
// learning curve, and the state of the whole run in a file after each epoch. Entry: train_digits.
#pragma once

#include "digit_set.hpp"
#include "learning_curve.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "run_state.hpp"

#include <kiln/kiln.hpp>

#include <kiln/data/data_loader.hpp>
#include <kiln/data/tensor_dataset.hpp>
#include <kiln/nn/loss/cross_entropy.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/optim/optimizer.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>

namespace support {

using kiln::Tensor;

using digit_tensors = kiln::data::TensorDataset<Tensor<float>, Tensor<std::int64_t>>;

/// Digits as tensors: pixels from 0 to 1, (n, 784), and what they show, (n).
digit_tensors tensors_of(const mnist::digit_set& set);

/// How many rows have their largest score at their label.
template <class D>
double count_right(const Tensor<float, D>& scores, const Tensor<std::int64_t, D>& labels) {
  const Tensor<std::int64_t, D> right = count_nonzero(argmax(scores, 1) == labels);
  return static_cast<double>(right.item());
}

/// A tensor where it is computed with.
template <class D>
auto on(const auto& x) {
  if constexpr (std::is_same_v<D, kiln::Cpu>)
    return x;
  else
    return x.to(D{});
}

/// The share of digits that `net` tells right.
template <class D>
double test_accuracy(auto& net, const digit_tensors& set) {
  const kiln::no_grad quiet;
  kiln::nn::eval(net);
  double right = 0;
  for (const auto& [x, y] : kiln::data::DataLoader(set, {.batch_size = 1000})) {
    const Tensor<float, D> scores = net(on<D>(x));
    right += count_right(scores, on<D>(y));
  }
  kiln::nn::train(net);
  return right / static_cast<double>(set.size());
}

/// Trains `net`, whose parameters `opt` has, for with.epochs, and prints how it goes. The last line is test_accuracy=.
template <class D>
void train_digits(auto& net, auto& opt, const mnist::digit_data& data, const options& with) {
  std::cout << "data: " << data.origin << " (" << data.train.size() << " train, " << data.test.size() << " test)\n";
  const digit_tensors train = tensors_of(data.train), test = tensors_of(data.test);
  kiln::data::DataLoader batches(train, {.batch_size = with.batch, .shuffle = true, .seed = with.seed});

  progress show(with.epochs, data.train.size());
  learning_curve curve{{"training_loss", "training_accuracy", "test_accuracy"}};
  run_state state(with, net, opt);
  for (const std::int64_t epoch : state.epochs(curve, show)) {
    batches.set_epoch(static_cast<std::uint64_t>(epoch));
    show.begin_epoch();
    for (const auto& [x, y] : batches) {
      const Tensor<std::int64_t, D> labels = on<D>(y);
      const Tensor<float, D> scores = net(on<D>(x));
      const Tensor<float, D> loss = kiln::nn::cross_entropy(scores, labels);
      opt.zero_grad();
      backward(loss);
      opt.step();
      const double value = loss.template item<double>();
      if (!std::isfinite(value))
        throw kiln::value_error("the loss is no longer finite; the steps are too large, try a smaller --lr");
      show.step(value, count_right(scores, labels), static_cast<std::size_t>(y.numel()));
    }
    const double seconds = show.seconds(), reached = test_accuracy<D>(net, test);
    curve.add({show.mean_loss(), show.accuracy(), reached});
    show.end_epoch(reached, seconds);
    state.keep(epoch + 1);
  }
  if (!with.picture.empty()) std::cout << draw_curve(curve, with.picture) << '\n';
  std::printf("test_accuracy=%.4f\n", test_accuracy<D>(net, test));
}

}  // namespace support

// What makes the batches is compiled once, in train_digits.cpp.
extern template class kiln::data::DataLoader<support::digit_tensors>;
