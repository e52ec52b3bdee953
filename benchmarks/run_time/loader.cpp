// SPDX-License-Identifier: BSL-1.0
// A training step of mnist_mlp's network, batch 64, on batches from a loader beside batches that lie in memory:
// 784-256-10, relu, cross-entropy, SGD with momentum. Time is that of one step.
#include <benchmark/benchmark.h>

#include <optional>

#include <kiln/data/data_loader.hpp>
#include <kiln/data/tensor_dataset.hpp>
#include <kiln/kiln.hpp>
#include <kiln/nn/layers/activation.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/layers/sequential.hpp>
#include <kiln/nn/loss/cross_entropy.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/optim/sgd.hpp>

namespace {

using namespace kiln;

struct training {
  nn::Sequential<nn::Linear<>, nn::ReLU, nn::Linear<>> net{nn::Linear{784, 256}, nn::ReLU{}, nn::Linear{256, 10}};
  optim::SGD<float> opt{nn::parameters(net), {.lr = 0.01, .momentum = 0.9}};
  void step(const Tensor<float>& x, const Tensor<std::int64_t>& y) {
    opt.zero_grad();
    backward(nn::cross_entropy(net(x), y));
    opt.step();
  }
};

auto digits() {
  static const data::TensorDataset set(rand({8000, 784}), randint(10, {8000}));
  return set;
}

void in_memory(benchmark::State& state) {
  training run;
  std::vector<std::tuple<Tensor<float>, Tensor<std::int64_t>>> batches;
  data::DataLoader loader(digits(), {.batch_size = 64, .shuffle = true});
  for (auto& b : loader) batches.push_back(b);
  std::size_t at = 0;
  for (auto _ : state) {
    const auto& [x, y] = batches[at++ % batches.size()];
    run.step(x, y);
  }
}

void from_loader(benchmark::State& state) {
  training run;
  data::DataLoader batches(digits(), {.batch_size = 64, .shuffle = true, .workers = static_cast<int>(state.range(0))});
  auto at = batches.begin();
  for (auto _ : state) {
    if (at == batches.end()) at = batches.begin();
    const auto& [x, y] = *at;
    run.step(x, y);
    ++at;
  }
}

const bool registered = [] {
  benchmark::RegisterBenchmark("step/in_memory", in_memory)->UseRealTime()->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("step/loader", from_loader)
      ->Arg(0)
      ->Arg(1)
      ->Arg(2)
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
  return true;
}();

}  // namespace
