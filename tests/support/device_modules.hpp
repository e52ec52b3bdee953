// SPDX-License-Identifier: BSL-1.0
// Modules on any device: a small network of several kinds of layers, trained for some steps beside the same one on Cpu,
// whose layers are held against PyTorch's elsewhere.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>
#include <kiln/optim.hpp>

namespace device_test {

using namespace kiln;

/// Images through a convolution, a norm and pooling, words through an embedding and a recurrent layer, both into one
/// linear layer.
template <class D>
struct small_network {
  nn::Conv2d<float, D> conv{2, 3, 3, {.padding = 1}};
  nn::BatchNorm2d<float, D> batch_norm{3};
  nn::Embedding<float, D> embedding{7, 4};
  nn::LSTM<float, D> recurrent{4, 5};
  nn::LayerNorm<float, D> layer_norm{{17}};
  nn::Linear<float, D> linear{17, 3};

  Tensor<float, D> operator()(const Tensor<float, D>& images, const Tensor<std::int64_t, D>& words) {
    const Tensor<float, D> seen = max_pool2d(relu(batch_norm(conv(images))), 2);
    const Tensor<float, D> read = recurrent(embedding(words)).output.select(0, -1);
    const Tensor<float, D> both = cat({seen.reshape({images.size(0), -1}), read}, 1);
    return linear(gelu(layer_norm(both)));
  }
};

/// Losses of some steps of training, and the outputs in evaluation, are those of Cpu.
template <class Device>
void check_modules() {
  manual_seed(3);
  small_network<Cpu> here;
  small_network<Device> there;
  const auto from = nn::parameters(here);
  auto to = nn::parameters(there);
  REQUIRE(from.size() == to.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i].detach().copy_(from[i].detach().to(Device{}));
  const Tensor<float> images = randn<float>({6, 2, 4, 4});
  const Tensor<std::int64_t> words = randint<std::int64_t>(0, 7, {3, 6}), classes = randint<std::int64_t>(0, 3, {6});
  const auto train = [&]<class D>(small_network<D>& net) {
    optim::SGD step(nn::parameters(net), {.lr = 0.1, .momentum = 0.9});
    std::vector<double> losses;
    for (int t = 0; t < 4; ++t) {
      step.zero_grad();
      const Tensor<float, D> loss = nn::cross_entropy(net(images.to(D{}), words.to(D{})), classes.to(D{}));
      loss.backward();
      step.step();
      losses.push_back(static_cast<double>(loss.item()));
    }
    nn::eval(net);
    const no_grad quiet;
    const Tensor<float> out = net(images.to(D{}), words.to(D{})).template to<Cpu>();
    losses.insert(losses.end(), out.data(), out.data() + out.numel());
    return losses;
  };
  const std::vector<double> wanted = train(here), got = train(there);
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-3));
  CHECK(wanted[3] < wanted[0]);  // it learns
}

}  // namespace device_test
