// SPDX-License-Identifier: BSL-1.0
// The convolutional network of models/cnn and processes/cnn.
#pragma once

#include <cstdint>

#include <kiln/nn/layers/conv.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/loss/cross_entropy.hpp>

namespace peers {

/// Images of [1, 28, 28] -> 32 channels of 14 x 14 -> 64 of 7 x 7 -> 128 hidden units -> 10 scores.
struct cnn {
  kiln::nn::Conv2d<float> conv1{1, 32, 3, {.padding = 1}}, conv2{32, 64, 3, {.padding = 1}};
  kiln::nn::Linear<float> fc1{3136, 128}, fc2{128, 10};
  kiln::Tensor<float> loss(const kiln::Tensor<float>& x, const kiln::Tensor<std::int64_t>& y) const {
    const kiln::Tensor<float> a = max_pool2d(relu(conv1(x)), 2), b = max_pool2d(relu(conv2(a)), 2);
    const kiln::Tensor<float> h = relu(fc1(flatten(b, 1)));
    return kiln::nn::cross_entropy(fc2(h), y);
  }
};

}  // namespace peers
