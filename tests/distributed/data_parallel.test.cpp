// SPDX-License-Identifier: BSL-1.0
// Many processes learn as one does with the same batches, and are refused where their models differ.
#include <kiln/distributed/data_parallel.hpp>

#include <kiln/distributed/collectives.hpp>
#include <kiln/kiln.hpp>
#include <kiln/nn/layers/batch_norm.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/loss/cross_entropy.hpp>
#include <kiln/optim/gradients.hpp>
#include <kiln/optim/sgd.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

using namespace kiln;
using distributed::reduce_op;

namespace {

struct small_net {
  nn::Linear<float> fc1{12, 20}, fc2{20, 5};
  auto operator()(const auto& x) const { return fc2(tanh(fc1(x))); }
};

// The losses of some steps; of `part` of `parts` of each batch of 24.
std::vector<double> learn(const small_net& net, int part, int parts, bool joined) {
  optim::SGD opt(nn::parameters(net), {.lr = 0.5, .momentum = 0.9});
  generator numbers(7);
  std::vector<double> losses;
  for (int step = 0; step < 30; ++step) {
    const Tensor<float> x = randn<float>({24, 12}, numbers);
    const Tensor<std::int64_t> labels = argmax(x.slice(1, 0, 5), 1);
    const std::int64_t from = 24 / parts * part, to = 24 / parts * (part + 1);
    opt.zero_grad();
    const Tensor<float> loss = nn::cross_entropy(net(x.slice(0, from, to)), labels.slice(0, from, to));
    backward(loss);
    optim::clip_grad_norm(opt, 1.0);  // sees the mean of all ranks, or weights would part
    opt.step();
    const double own = static_cast<double>(loss.item());
    losses.push_back(joined ? distributed::all_reduce(own, reduce_op::mean) : own);
  }
  return losses;
}

}  // namespace

TEST_CASE("the curve of many processes is that of one with the same batches, to 1e-6") {
  manual_seed(11);
  small_net alone;
  manual_seed(100 + static_cast<std::uint64_t>(distributed::rank()));
  small_net shared;
  {
    const no_grad quiet;
    const auto from = nn::parameters(alone);
    auto to = nn::parameters(shared);
    if (distributed::rank() == 0)
      for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);  // the others get it from there
  }
  const std::vector<double> one = learn(alone, 0, 1, false);
  distributed::DistributedDataParallel parallel(shared, {.bucket_cap_mb = 0.001});
  const std::vector<double> many = learn(shared, distributed::rank(), distributed::world_size(), true);
  REQUIRE(one.size() == many.size());
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(many[i] == doctest::Approx(one[i]).epsilon(1e-6));
  CHECK(one.back() < 0.95 * one.front());

  const Tensor<float> all = distributed::all_gather(shared.fc1.weight.detach());
  for (std::int64_t r = 1; r < all.size(0); ++r) CHECK(allclose(all[r], all[0], 0, 0));  // bit for bit
}

TEST_CASE("least squares on many processes follow the steps of plain loops in double") {
  const int n = distributed::world_size(), rank = distributed::rank();
  Tensor<double> w{0.5, -0.25};
  w.requires_grad();
  const std::vector<Tensor<double>> parameters{w};
  distributed::DistributedDataParallel<double, Cpu> parallel(parameters, {}, {}, distributed::world());
  optim::SGD opt(parameters, {.lr = 0.05});
  double expected[2]{0.5, -0.25};
  for (int step = 0; step < 20; ++step) {
    double g[2]{};
    for (int r = 0; r < n; ++r) {
      const double x[2]{std::sin(step + r + 1.0), std::cos(2.0 * step - r)}, y = 3 * x[0] - x[1];
      const double error = expected[0] * x[0] + expected[1] * x[1] - y;
      for (int k = 0; k < 2; ++k) g[k] += 2 * error * x[k] / n;
    }
    for (int k = 0; k < 2; ++k) expected[k] -= 0.05 * g[k];
    const double a = std::sin(step + rank + 1.0), b = std::cos(2.0 * step - rank);
    opt.zero_grad();
    backward(sum(square(sum(w * Tensor<double>{a, b}) - (3 * a - b))));
    opt.step();
    for (int k = 0; k < 2; ++k) CHECK(w.data()[k] == doctest::Approx(expected[k]).epsilon(1e-12));
  }
}

TEST_CASE("buffers begin as those of rank 0, and become them again when asked to") {
  nn::BatchNorm1d<float> norm{4};
  const float mine = static_cast<float>(distributed::rank());
  for (auto& b : nn::buffers(norm)) b.fill_(mine + 1);
  distributed::DistributedDataParallel parallel(norm);
  for (auto& b : nn::buffers(norm)) CHECK(b.data()[0] == 1.0f);
  for (auto& b : nn::buffers(norm)) b.fill_(mine + 5);
  parallel.broadcast_buffers();
  for (auto& b : nn::buffers(norm)) CHECK(b.data()[3] == 5.0f);
}

TEST_CASE("models that differ are refused on every rank, and the difference is named where it is") {
  const int last = distributed::world_size() - 1;
  if (last == 0) return;
  const bool other = distributed::rank() == last;
  small_net net;
  if (other) net.fc2 = nn::Linear<float>{20, 6};
  CHECK_THROWS_WITH_AS(distributed::DistributedDataParallel(net, {}),
                       doctest::Contains((other ? "parameter 2 of rank " : "are not those of rank 0 (4, here 4)")),
                       value_error);
  std::vector<Tensor<float>> some{ones<float>({2}), ones<float>({2})};
  if (other) some.pop_back();
  CHECK_THROWS_WITH_AS((distributed::DistributedDataParallel<float, Cpu>(some, {}, {}, distributed::world())),
                       doctest::Contains("the same model"), value_error);
  nn::BatchNorm1d<float> norm{other ? 5 : 4, {.affine = false}};
  CHECK_THROWS_WITH_AS((distributed::DistributedDataParallel<float, Cpu>(
                           {ones<float>({1})}, {norm.running_mean->state()}, {}, distributed::world())),
                       doctest::Contains("buffer"), value_error);
}

TEST_CASE("options out of range are refused") {
  small_net net;
  CHECK_THROWS_WITH_AS(distributed::DistributedDataParallel(net, {.bucket_cap_mb = -1}),
                       doctest::Contains(".bucket_cap_mb"), value_error);
}
