// SPDX-License-Identifier: BSL-1.0
// A loader with pinned batches, sets on a GPU, and the weights of models there, over the stand-in.
#include <kiln/cuda.hpp>

#include <cuda_emulator/stand_in.hpp>
#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <kiln/data/cuda.hpp>
#include <kiln/data/data_loader.hpp>
#include <kiln/data/tensor_dataset.hpp>
#include <kiln/io/checkpoint.hpp>
#include <kiln/io/save.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/optim/sgd.hpp>

using namespace kiln;

TEST_CASE("cuda: batches in pinned memory, of any number of workers") {
  emulate::stand_in();
  const Tensor<float> x{{1, 2}, {3, 4}, {5, 6}};
  for (const int workers : {0, 2}) {
    data::DataLoader batches(data::TensorDataset(x, Tensor<std::int64_t>{7, 8, 9}),
                             {.batch_size = 2, .workers = workers, .pin_memory = true});
    float sum = 0;
    for (auto [a, b] : batches) {
      CHECK(cuda::is_pinned(*a.state()->memory));
      CHECK(cuda::is_pinned(*b.state()->memory));
      const Tensor<float> back = a.to<Cuda>().to<Cpu>();
      for (const float v : back.span()) sum += v;
    }
    CHECK(sum == 21);
  }
}

TEST_CASE("cuda: weights of a model there are saved and loaded, and a checkpoint goes on") {
  emulate::stand_in();
  const kiln_tests::scratch_directory dir;
  nn::Linear<float, Cuda> net{2, 1}, other{2, 1};
  io::save(dir.path() / "net.safetensors", net);
  io::load(dir.path() / "net.safetensors", other);
  const auto same = [&] {
    const Tensor<float> a = net.weight.to<Cpu>(), b = other.weight.to<Cpu>();
    return a(0, 0) == b(0, 0) && a(0, 1) == b(0, 1);
  };
  CHECK(same());
  optim::SGD<float, Cuda> opt(nn::parameters(net), {.lr = 0.1, .momentum = 0.9});
  optim::SGD<float, Cuda> resumed(nn::parameters(other), {.lr = 0.1});
  const auto step = [](auto& model, auto& with) {
    with.zero_grad();
    backward(sum(model.weight * model.weight) + sum(model.bias));
    with.step();
  };
  step(net, opt);
  io::save_checkpoint(dir.path() / "run.safetensors", 1, net, opt);
  step(net, opt);
  CHECK_FALSE(same());
  CHECK(io::load_checkpoint(dir.path() / "run.safetensors", other, resumed) == 1);
  step(other, resumed);
  CHECK(same());
}
