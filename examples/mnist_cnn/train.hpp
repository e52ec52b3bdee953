// SPDX-License-Identifier: BSL-1.0
// What the program learns with: two convolutions with poolings, two dense layers, and Adam.
#pragma once

#include "../support/digits.hpp"
#include "../support/load_digits.hpp"
#include "../support/train_digits.hpp"

#include <kiln/nn/layers/conv.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/optim/adam.hpp>

namespace mnist {

/// Images of 28 x 28 -> 16 channels of 14 x 14 -> 32 of 7 x 7 -> 128 hidden units -> 10 scores, one per digit.
template <class D>
struct Cnn {
  kiln::nn::Conv2d<float, D> conv1{1, 16, 5, {.padding = 2}}, conv2{16, 32, 5, {.padding = 2}};
  kiln::nn::Linear<float, D> fc1{32 * 7 * 7, 128}, fc2{128, 10};
  auto operator()(const kiln::Tensor<float, D>& x) const {
    const kiln::Tensor<float, D> a = max_pool2d(relu(conv1(x.reshape({-1, 1, 28, 28}))), 2);
    const kiln::Tensor<float, D> b = max_pool2d(relu(conv2(a)), 2);
    return fc2(relu(fc1(b.reshape({-1, 32 * 7 * 7}))));
  }
};

template <class D>
void run_cnn(const support::options& with) {
  Cnn<D> net;
  kiln::optim::Adam opt(kiln::nn::parameters(net), {.lr = with.learning_rate});
  const digit_data data = with.data.empty() ? draw_digits(with.seed) : load_digits(with.data);
  support::train_digits<D>(net, opt, data, with);
}

/// In cuda.cpp, so that each file compiles kernels for one device.
void run_cnn_on_cuda(const support::options& with);

}  // namespace mnist
