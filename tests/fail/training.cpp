// expect: kiln: an optimizer takes parameters and options by name: optim::SGD o(nn::parameters(net), {.lr = 0.1})
// expect: kiln: an optimizer takes parameters and options by name: optim::SGD o(nn::parameters(net), {.lr = 0.1})
// expect: kiln: a DataLoader takes its options by name: DataLoader(set, {.batch_size = 32, .shuffle = true})
// expect: kiln: cross_entropy takes the scores first, floating numbers, and then the target
// expect: kiln: nll_loss takes the logarithms of probabilities first, floating numbers, and then the target
// SPDX-License-Identifier: BSL-1.0
// Optimizers, loaders and losses that are given other things than they take.
#include <kiln/data/data_loader.hpp>
#include <kiln/data/tensor_dataset.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/loss/cross_entropy.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/optim/adam.hpp>
#include <kiln/optim/sgd.hpp>

using namespace kiln;

struct Net {
  nn::Linear<> layer{3, 4};
};

void train(Net net, Tensor<float> x, Tensor<std::int64_t> labels) {
  const data::TensorDataset set(x, labels);
#ifdef EXPECT_ERROR
  optim::SGD of_a_module(net, {.lr = 0.1});
  optim::Adam by_a_number(nn::parameters(net), 0.1);
  data::DataLoader loader(set, 32);
  auto loss = nn::cross_entropy(labels, x);
  auto other = nn::nll_loss(labels, x);
#else
  optim::SGD of_a_module(nn::parameters(net), {.lr = 0.1});
  optim::Adam of_tensors({x, x}, {.lr = 0.1});
  data::DataLoader loader(set, {.batch_size = 32});
  auto loss = nn::cross_entropy(x, labels);
  auto other = nn::nll_loss(x, labels);
#endif
  (void)loss, (void)other;
}
