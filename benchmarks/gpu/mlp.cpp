// SPDX-License-Identifier: BSL-1.0
// A training step of a 784-256-128-64-10 network (relu, cross-entropy, SGD) on batches of 64, each kernel launched by
// the host, and as a graph.
#include "measure.hpp"

using namespace measure;

namespace {

constexpr std::int64_t sizes[] = {784, 256, 128, 64, 10}, batch = 64;
constexpr float rate = 0.05f;
constexpr std::size_t layers = 4;

struct network {
  on_device<float> w[layers], b[layers], x, target, loss;
  std::vector<double> first_w[layers], first_b[layers];
  network() {
    for (std::size_t i = 0; i < layers; ++i) {
      const float scale = std::sqrt(2.0f / static_cast<float>(sizes[i]));
      w[i] = randn<float, Cuda>({sizes[i], sizes[i + 1]}) * scale;
      b[i] = zeros<float, Cuda>({sizes[i + 1]});
      first_w[i] = values_of(w[i]), first_b[i] = values_of(b[i]);
      w[i].requires_grad(), b[i].requires_grad();
    }
    x = rand<float, Cuda>({batch, sizes[0]});
    target = cast<float>(one_hot(randint<std::int64_t, Cuda>(0, sizes[layers], {batch}), sizes[layers]));
  }
  void step() {
    const on_device<float> h0 = relu(matmul(x, w[0]) + b[0]), h1 = relu(matmul(h0, w[1]) + b[1]),
                           h2 = relu(matmul(h1, w[2]) + b[2]);
    loss = -mean(sum(log_softmax(matmul(h2, w[3]) + b[3], 1) * target, 1));
    for (std::size_t i = 0; i < layers; ++i) w[i].zero_grad(), b[i].zero_grad();
    backward(loss);
    const no_grad quiet;
    for (std::size_t i = 0; i < layers; ++i) {
      w[i] -= rate * w[i].grad();
      b[i] -= rate * b[i].grad();
    }
  }
};

// `steps` steps in float64 by plain loops; the loss of the last one, and what the parameters are then.
struct plain_network {
  std::vector<double> w[layers], b[layers];
  double loss = 0;
  void step(const std::vector<double>& x, const std::vector<double>& target) {
    std::vector<double> h[layers + 1];
    h[0] = x;
    const auto rows = static_cast<std::size_t>(batch);
    for (std::size_t l = 0; l < layers; ++l) {
      const auto in = static_cast<std::size_t>(sizes[l]), out = static_cast<std::size_t>(sizes[l + 1]);
      h[l + 1].resize(rows * out);
      for (std::size_t r = 0; r < rows; ++r) {
        double* const y = h[l + 1].data() + r * out;
        std::copy(b[l].begin(), b[l].end(), y);
        for (std::size_t i = 0; i < in; ++i)
          for (std::size_t o = 0; o < out; ++o) y[o] += h[l][r * in + i] * w[l][i * out + o];
        if (l + 1 < layers)
          for (std::size_t o = 0; o < out; ++o) y[o] = std::max(y[o], 0.0);
      }
    }
    const auto classes = static_cast<std::size_t>(sizes[layers]);
    std::vector<double> g = h[layers];
    loss = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      double total = 0;
      for (std::size_t c = 0; c < classes; ++c) total += std::exp(g[r * classes + c]);
      for (std::size_t c = 0; c < classes; ++c) {
        double& v = g[r * classes + c];
        loss -= (v - std::log(total)) * target[r * classes + c] / static_cast<double>(rows);
        v = (std::exp(v) / total - target[r * classes + c]) / static_cast<double>(rows);
      }
    }
    for (std::size_t l = layers; l-- > 0;) {
      const auto in = static_cast<std::size_t>(sizes[l]), out = static_cast<std::size_t>(sizes[l + 1]);
      std::vector<double> before(rows * in), gw(w[l].size()), gb(out);
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t o = 0; o < out; ++o) gb[o] += g[r * out + o];
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = 0; i < in; ++i)
          for (std::size_t o = 0; o < out; ++o) {
            gw[i * out + o] += h[l][r * in + i] * g[r * out + o];
            before[r * in + i] += w[l][i * out + o] * g[r * out + o];
          }
      if (l > 0)
        for (std::size_t i = 0; i < before.size(); ++i) before[i] = h[l][i] > 0 ? before[i] : 0;
      for (std::size_t i = 0; i < gw.size(); ++i) w[l][i] -= static_cast<double>(rate) * gw[i];
      for (std::size_t i = 0; i < gb.size(); ++i) b[l][i] -= static_cast<double>(rate) * gb[i];
      g = before;
    }
  }
};

std::string check(const network& n, int steps) {
  plain_network plain;
  for (std::size_t l = 0; l < layers; ++l) plain.w[l] = n.first_w[l], plain.b[l] = n.first_b[l];
  const auto x = values_of(n.x), target = values_of(n.target);
  for (int i = 0; i < steps; ++i) plain.step(x, target);
  std::string wrong = difference({number(n.loss.item())}, {plain.loss}, 1e-4);
  const no_grad quiet;
  for (std::size_t l = 0; l < layers; ++l)
    wrong += difference(values_of(n.w[l].detach()), plain.w[l], 1e-4) +
             difference(values_of(n.b[l].detach()), plain.b[l], 1e-3);
  return wrong;
}

[[maybe_unused]] const bool entered = [] {
  enter(
      "mlp/eager/64", "kiln",
      [] {
        cuda::set_allow_tf32(false);
        auto n = std::make_shared<network>();
        work made;
        made.run = [n] { n->step(); };
        made.wrong = [n] { return check(*n, 1); };
        return made;
      },
      clock_kind::whole);
  enter(
      "mlp/graph/64", "kiln",
      [] {
        cuda::set_allow_tf32(false);
        auto n = std::make_shared<network>();
        auto graph = std::make_shared<cuda::graph>(cuda::capture([n] { n->step(); }, {}, 2));
        work made;
        made.run = [n, graph] { graph->replay(); };
        made.wrong = [n] { return check(*n, 3); };  // two warm-ups and a replay
        return made;
      },
      clock_kind::whole);
  return true;
}();

}  // namespace
