// SPDX-License-Identifier: BSL-1.0
// Training beside PyTorch's: from the same weights on the same data, the same losses over 200 steps, in double.
#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>
#include <kiln/optim.hpp>

#include <nn/loss_curves.hpp>
#include <support/live_torch.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

using namespace kiln;

namespace {

// The models and the numbers of loss_curves.py.
Tensor<double> wave(const dims& sizes, double by = 1.3, double at = 0) {
  return sin(arange<double>(count(sizes)) * by + (at + test::live_shift())).eval().reshape(sizes);
}
Tensor<std::int64_t> classes(std::int64_t n, std::int64_t by) {
  return remainder(arange<std::int64_t>(n) * by, 3);
}
template <class M>
M begin() {
  M net;
  auto all = nn::named_parameters(net);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const no_grad quiet;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const std::string& name = all[k].first;
    const double more = name.find("norm") != name.npos && name.ends_with("weight") ? 1 : 0;
    all[k].second.copy_(wave(all[k].second.sizes(), 1.7, 0.9 * static_cast<double>(k) + 0.3) * 0.4 + more);
  }
  return net;
}

struct mlp {
  nn::Linear<double> fc1{6, 8}, fc2{8, 3};
  nn::BatchNorm1d<double> norm{8};
  Tensor<double> loss() const {
    static const Tensor<double> x = wave({12, 6});
    static const Tensor<std::int64_t> y = classes(12, 7);
    return nn::cross_entropy(fc2(tanh(norm(fc1(x)))), y);
  }
};
struct cnn {
  nn::Conv2d<double> conv1{1, 3, 3, {.padding = 1}}, conv2{3, 4, 3};
  nn::Linear<double> fc{16, 3};
  Tensor<double> loss() const {
    static const Tensor<double> x = wave({6, 1, 8, 8}, 0.9);
    static const Tensor<std::int64_t> y = classes(6, 5);
    const Tensor<double> h = max_pool2d(relu(conv1(x)), 2), wide = relu(conv2(h));
    return nn::cross_entropy(fc(flatten(wide, 1)), y);
  }
};
struct lstm {
  nn::LSTM<double> lstm{3, 5, {.batch_first = true}};
  nn::Linear<double> fc{5, 2};
  Tensor<double> loss() const {
    static const Tensor<double> x = wave({4, 6, 3}), y = wave({4, 2}, 2.1);
    const Tensor<double> all = lstm(x).output;
    return nn::mse_loss(fc(all.select(1, 5)), y);
  }
};
struct block {
  nn::TransformerEncoderLayer<double> layer{
      8,
      2,
      {.dim_feedforward = 16, .dropout = 0, .activation = nn::feed_forward_activation::gelu, .batch_first = true}};
  Tensor<double> loss() const {
    static const Tensor<double> x = wave({3, 5, 8}), y = wave({3, 5, 8}, 2.3, 0.5);
    return nn::mse_loss(layer(x), y);
  }
};

/// The largest difference between the losses of steps 10, 20 ... and PyTorch's.
template <class M, class Make>
double difference(const Make& make, const std::string& name, std::span<const double> stored) {
  const std::vector<double> wanted = test::live_or_stored(name, {stored.begin(), stored.end()});
  REQUIRE(wanted.size() >= 3);
  const M net = begin<M>();
  auto opt = make(nn::parameters(net));
  double worst = 0;
  for (std::size_t step = 0; step < 10 * wanted.size(); ++step) {
    double loss = 0;
    const auto pass = [&] {
      const Tensor<double> now = net.loss();
      backward(now);
      return now;
    };
    if constexpr (requires { opt.step(pass); }) {
      loss = opt.step(pass);
    } else {
      opt.zero_grad();
      loss = pass().item();
      opt.step();
    }
    if (step % 10 == 9) worst = std::max(worst, std::isnan(loss) ? 1e300 : std::abs(loss - wanted[step / 10]));
  }
  return worst;
}

using list = std::vector<Tensor<double>>;
const auto sgd = [](const list& p) { return optim::SGD<double>(p, {.lr = 0.05, .momentum = 0.9}); };
const auto adam = [](const list& p) { return optim::Adam<double>(p, {.lr = 0.01}); };
const auto adamw = [](const list& p) { return optim::AdamW<double>(p, {.lr = 0.003, .weight_decay = 0.05}); };
const auto rmsprop = [](const list& p) { return optim::RMSprop<double>(p, {.lr = 0.003}); };
const auto lbfgs = [](const list& p) {
  return optim::LBFGS<double>(p,
                              {.max_iter = 4, .history_size = 10, .line_search_fn = optim::line_search::strong_wolfe});
};
const auto block_lbfgs = [](const list& p) {
  return optim::LBFGS<double>(
      p, {.lr = 0.5, .max_iter = 2, .history_size = 4, .line_search_fn = optim::line_search::strong_wolfe});
};

}  // namespace

TEST_CASE("loss curves: an MLP with batch norm") {
  CHECK(difference<mlp>(sgd, "mlp_sgd", loss_curves::mlp_sgd) < 1e-10);
  CHECK(difference<mlp>(adam, "mlp_adam", loss_curves::mlp_adam) < 1e-10);
  CHECK(difference<mlp>(adamw, "mlp_adamw", loss_curves::mlp_adamw) < 1e-10);
  CHECK(difference<mlp>(rmsprop, "mlp_rmsprop", loss_curves::mlp_rmsprop) < 1e-10);
  CHECK(difference<mlp>(lbfgs, "mlp_lbfgs", loss_curves::mlp_lbfgs) < 1e-10);
}

TEST_CASE("loss curves: a convolutional network") {
  CHECK(difference<cnn>(sgd, "cnn_sgd", loss_curves::cnn_sgd) < 1e-10);
  CHECK(difference<cnn>(adam, "cnn_adam", loss_curves::cnn_adam) < 1e-10);
  CHECK(difference<cnn>(adamw, "cnn_adamw", loss_curves::cnn_adamw) < 1e-10);
  CHECK(difference<cnn>(rmsprop, "cnn_rmsprop", loss_curves::cnn_rmsprop) < 1e-10);
  CHECK(difference<cnn>(lbfgs, "cnn_lbfgs", loss_curves::cnn_lbfgs) < 1e-10);
}

TEST_CASE("loss curves: an LSTM") {
  CHECK(difference<lstm>(sgd, "lstm_sgd", loss_curves::lstm_sgd) < 1e-10);
  CHECK(difference<lstm>(adam, "lstm_adam", loss_curves::lstm_adam) < 1e-10);
  CHECK(difference<lstm>(adamw, "lstm_adamw", loss_curves::lstm_adamw) < 1e-10);
  CHECK(difference<lstm>(rmsprop, "lstm_rmsprop", loss_curves::lstm_rmsprop) < 1e-10);
  CHECK(difference<lstm>(lbfgs, "lstm_lbfgs", loss_curves::lstm_lbfgs) < 1e-10);
}

TEST_CASE("loss curves: a transformer block") {
  CHECK(difference<block>(sgd, "block_sgd", loss_curves::block_sgd) < 1e-10);
  CHECK(difference<block>(adam, "block_adam", loss_curves::block_adam) < 1e-10);
  CHECK(difference<block>(adamw, "block_adamw", loss_curves::block_adamw) < 1e-10);
  CHECK(difference<block>(rmsprop, "block_rmsprop", loss_curves::block_rmsprop) < 1e-10);
  CHECK(difference<block>(block_lbfgs, "block_lbfgs", loss_curves::block_lbfgs) < 1e-10);
}
