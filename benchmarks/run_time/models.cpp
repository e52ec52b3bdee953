// SPDX-License-Identifier: BSL-1.0
// Steps of training whole models by Adam, forward, backward and update, on one thread and on two, beside libtorch:
// models/knossos, the network of examples/knossos (batch 64); models/cnn, two convolutions with pooling and two linear
// layers on 28 x 28 images (batch 64); models/lstm, 128 units over 32 times of 64 numbers (batch 32); models/block, a
// transformer encoder layer of width 128 with 4 heads over 128 times (batch 8), without dropout.
#include "../../examples/knossos/relu3.hpp"
#include "../peers/cnn.hpp"
#include "../peers/contest.hpp"
#include "../peers/kiln.hpp"
#include "../peers/torch.hpp"

#include <kiln/nn/layers/batch_norm.hpp>
#include <kiln/nn/layers/dropout.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/layers/recurrent.hpp>
#include <kiln/nn/layers/transformer.hpp>
#include <kiln/nn/loss/cross_entropy.hpp>
#include <kiln/nn/loss/regression.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/optim/adam.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace kiln;
using knossos::relu3;

struct knossos_network {
  nn::Linear<float> fc1{784, 256}, fc2{256, 128}, fc3{128, 64}, fc4{64, 10};
  nn::BatchNorm1d<float> norm2{128}, norm3{64};
  nn::Dropout drop{0.3};
  Tensor<float> loss(const Tensor<float>& x, const Tensor<std::int64_t>& y) const {
    const Tensor<float> h1 = relu3(fc1(x)), h2 = drop(relu3(norm2(fc2(h1)))), h3 = relu3(norm3(fc3(h2)));
    return nn::nll_loss(log_softmax(fc4(h3), 1), y);
  }
};
struct lstm {
  nn::LSTM<float> layer{64, 128, {.batch_first = true}};
  nn::Linear<float> fc{128, 10};
  Tensor<float> loss(const Tensor<float>& x, const Tensor<std::int64_t>& y) const {
    return nn::cross_entropy(fc(layer(x).output.select(1, x.size(1) - 1)), y);
  }
};
struct block {
  nn::TransformerEncoderLayer<float> layer{128, 4, {.dim_feedforward = 512, .dropout = 0, .batch_first = true}};
  Tensor<float> loss(const Tensor<float>& x, const Tensor<std::int64_t>&) const {
    return nn::mse_loss(layer(x), zeros_like(x));
  }
};

/// `shape` is that of the inputs, the batch first.
template <class M, class Torch>
void contests(const std::string& work, const std::vector<std::size_t>& shape, Torch torch) {
  std::size_t n = 1;
  for (const std::size_t size : shape) n *= size;
  for (const int threads : {1, 2}) {
    const std::string name = "models/" + work + "/" + std::to_string(threads);
    const auto inputs = [=] { return contest::random(work, n, 0, 1); };
    if (peers::torch_found())
      contest::enter(name, "torch", 0, [=] {
        peers::torch_threads(threads);
        return torch(inputs());
      });
    contest::enter(name, "kiln", 0, [=] {
      cpu::set_num_threads(threads);
      const auto net = std::make_shared<M>();
      const auto opt = std::make_shared<optim::Adam<float>>(nn::parameters(*net), optim::adam_options{.lr = 0.003});
      const Tensor<std::int64_t> y = remainder(arange<std::int64_t>(static_cast<std::int64_t>(shape[0])) * 7, 10);
      return [net, opt, y, x = peers::tensor(inputs(), shape), loss = peers::result({})]() mutable {
        opt->zero_grad();
        loss = net->loss(x, y);
        backward(loss);
        opt->step();
        return peers::data(loss);
      };
    });
  }
}

[[maybe_unused]] const bool registered = [] {
  contests<knossos_network>("knossos", {64, 784}, [](const float* x) { return peers::torch_knossos_step(x, 64); });
  contests<peers::cnn>("cnn", {64, 1, 28, 28}, [](const float* x) { return peers::torch_cnn_step(x, 64); });
  contests<lstm>("lstm", {32, 32, 64}, [](const float* x) { return peers::torch_lstm_step(x, 32, 32); });
  contests<block>("block", {8, 128, 128}, [](const float* x) { return peers::torch_block_step(x, 8, 128); });
  return true;
}();

}  // namespace
