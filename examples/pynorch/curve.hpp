// SPDX-License-Identifier: BSL-1.0
// What the example learns: a network of ten sigmoids learns sin(x)^2, one point at a time.
#pragma once

#include <kiln/kiln.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/loss/regression.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/optim/sgd.hpp>

#include <cstddef>
#include <vector>

namespace pynorch {

using kiln::Tensor;

/// 1 -> 10 sigmoids -> 1.
struct curve_network {
  kiln::nn::Linear<float> fc1{1, 10}, fc2{10, 1};
  auto operator()(const auto& x) const { return fc2(sigmoid(fc1(x))); }
};

/// The network with the weights that the article's seed gives it.
inline curve_network first_network() {
  static constexpr double weights[] = {
#include "weights.txt"
  };
  curve_network net;
  const double* next = weights;
  for (const auto& p : kiln::nn::parameters(net))
    for (float& w : p.span()) w = static_cast<float>(*next++);
  return net;
}

/// Trains `net` on the 51 points x = 0, 0.4 ... 20, in this order, a step of gradient descent for each. Returns for
/// each epoch what the article prints: the squared error of its last point, before the step.
inline std::vector<double> learn_curve(const curve_network& net, int epochs = 10) {
  const Tensor<float> x = reshape(0.4f * kiln::arange<float>(51), {51, 1, 1});
  const Tensor<float> y = square(sin(x));
  kiln::optim::SGD opt(kiln::nn::parameters(net), {.lr = 0.001});
  std::vector<double> losses;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    Tensor<float> loss;
    for (int i = 0; i < 51; ++i) {
      loss = kiln::nn::mse_loss(net(x[i]), y[i]);
      opt.zero_grad();
      backward(loss);
      opt.step();
    }
    losses.push_back(loss.item<double>());
  }
  return losses;
}

}  // namespace pynorch
