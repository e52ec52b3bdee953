// SPDX-License-Identifier: BSL-1.0
// What the program learns with: the network, and gradient descent with momentum. The loop is
// support/train_digits.hpp's.
#pragma once

#include "../support/digits.hpp"
#include "../support/load_digits.hpp"
#include "../support/train_digits.hpp"
#include "options.hpp"

#include <kiln/nn/layers/linear.hpp>
#include <kiln/optim/sgd.hpp>

namespace mnist {

/// 784 pixels -> 256 hidden units -> 10 scores, one per digit.
template <class D>
struct Mlp {
  kiln::nn::Linear<float, D> fc1{784, 256}, fc2{256, 10};
  auto operator()(const auto& x) const { return fc2(relu(fc1(x))); }
};

template <class D>
void run(const support::options& with) {
  Mlp<D> net;
  kiln::optim::SGD opt(kiln::nn::parameters(net),
                       {.lr = with.learning_rate, .momentum = static_cast<const options&>(with).momentum});
  const digit_data data = with.data.empty() ? draw_digits(with.seed) : load_digits(with.data);
  support::train_digits<D>(net, opt, data, with);
}

/// In cuda.cpp, so that each file compiles kernels for one device.
void run_on_cuda(const support::options& with);

}  // namespace mnist
