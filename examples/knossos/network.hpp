// SPDX-License-Identifier: BSL-1.0
// The page's network for digits, with relu3 as its layer, and its training.
#pragma once

#include "../pynorch_digits/digits.hpp"
#include "relu3.hpp"

#include <kiln/nn/layers/batch_norm.hpp>
#include <kiln/nn/layers/dropout.hpp>
#include <kiln/optim/adam.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace knossos {

using kiln::Tensor;

/// 784 pixels -> logarithms of the probabilities of ten digits. The activation and what stands before it are one
/// kernel.
struct network {
  kiln::nn::Linear<float> fc1{784, 256}, fc2{256, 128}, fc3{128, 64}, fc4{64, 10};
  kiln::nn::BatchNorm1d<float> norm2{128}, norm3{64};
  kiln::nn::Dropout drop{0.3};

  auto operator()(const auto& x) const {
    const Tensor<float> h1 = relu3(fc1(x));
    const Tensor<float> h2 = drop(relu3(norm2(fc2(h1))));
    const Tensor<float> h3 = relu3(norm3(fc3(h2)));
    return log_softmax(fc4(h3), 1);
  }
};

/// What the page's table has for each epoch: the losses of its batches, added up; here with the accuracy on digits that
/// were not learned from.
struct epoch_result {
  double loss, accuracy;
};

/// The share of digits of which the network finds the most likely one right; dropout and batches play no part.
inline double accuracy(network& net, const pynorch::digit_tensors& digits) {
  const kiln::no_grad quiet;
  kiln::nn::eval(net);
  const Tensor<float> outputs = net(digits.pixels);
  kiln::nn::train(net);
  const Tensor<std::int64_t> right = count_nonzero(argmax(outputs, 1) == digits.labels);
  return right.item<double>() / static_cast<double>(digits.labels.numel());
}

/// Trains by Adam with the page's rate, 0.003, on shuffled batches of 64; a rest that makes none is left for the next
/// shuffle. Prints a line of the table after each epoch.
inline std::vector<epoch_result> learn(network& net, const pynorch::digit_tensors& train,
                                       const pynorch::digit_tensors& test, int epochs) {
  kiln::optim::Adam opt(kiln::nn::parameters(net), {.lr = 0.003});
  std::vector<epoch_result> table;
  std::puts("epoch   training loss   test accuracy");
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const Tensor<std::int64_t> order = kiln::randperm(train.labels.numel());
    double sum = 0;
    for (std::int64_t at = 0; at + 64 <= train.labels.numel(); at += 64) {
      const Tensor<std::int64_t> batch = order.slice(0, at, at + 64);
      const Tensor<float> loss =
          kiln::nn::nll_loss(net(index_select(train.pixels, 0, batch)), index_select(train.labels, 0, batch));
      opt.zero_grad();
      backward(loss);
      opt.step();
      sum += loss.item<double>();
    }
    table.push_back({sum, accuracy(net, test)});
    std::printf("%5d   %13.3f   %13.4f\n", epoch, sum, table.back().accuracy);
    std::fflush(stdout);
  }
  return table;
}

}  // namespace knossos
