// SPDX-License-Identifier: BSL-1.0
// examples/q/spirals.q against libtorch from C++: the same network, batches of 50 drawn anew each epoch, loss and
// optimizer; prints microseconds of processor time per step, the median of nine rounds of 100 epochs. Beside it stands
// benchmarks/run_time/spirals.q, for kilnq.
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

int main() {
  torch::set_num_threads(1);
  torch::manual_seed(1);
  const int n = 50;
  std::vector<float> points;
  std::vector<std::int64_t> arms;
  for (int k = 0; k < 3; ++k)
    for (int i = 1; i <= n; ++i) {
      const double r = static_cast<double>(i) / n, t = 4 * r + k * 2.0943951;
      points.push_back(static_cast<float>(r * std::sin(t)));
      points.push_back(static_cast<float>(r * std::cos(t)));
      arms.push_back(k);
    }
  const auto x = torch::tensor(points).reshape({3 * n, 2}), y = torch::tensor(arms);
  torch::nn::Sequential net(torch::nn::Linear(2, 100), torch::nn::ReLU(), torch::nn::Linear(100, 3));
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(0.01));
  const auto epoch = [&] {
    const auto order = torch::randperm(3 * n);
    const auto inputs = x.index_select(0, order), targets = y.index_select(0, order);
    double sum = 0;
    for (int first = 0; first < 3 * n; first += 50) {
      optimizer.zero_grad();
      const auto loss =
          torch::nn::functional::cross_entropy(net->forward(inputs.narrow(0, first, 50)), targets.narrow(0, first, 50));
      loss.backward();
      optimizer.step();
      sum += loss.item<double>();
    }
    return sum / 3;
  };
  const auto seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  std::vector<double> rounds;
  double last = 0;
  for (int round = 0; round < 10; ++round) {  // the first warms up
    const double before = seconds();
    for (int i = 0; i < 100; ++i) last = epoch();
    if (round > 0) rounds.push_back((seconds() - before) * 1e6 / 300);
  }
  std::sort(rounds.begin(), rounds.end());
  std::printf("libtorch %s: %.1f us of processor time per step, loss %.4f\n", TORCH_VERSION, rounds[4], last);
}
