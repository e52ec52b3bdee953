// SPDX-License-Identifier: BSL-1.0
// Work so small that only the overhead counts, beside hand-written code without any heap and libtorch:
//   forward   sigmoid(matmul(W, x) + b), W [10, 10], x and b [10, 1]
//   backward  the same, summed, with the gradients for W and b
//   curve     one SGD step, batch 1, of the 1-10-1 sigmoid network with mean squared error
#include "../peers/contest.hpp"
#include "../peers/packet.hpp"
#include "../peers/torch.hpp"

#include <array>
#include <cmath>

#if __has_include(<kiln/kiln.hpp>)
#include "../peers/kiln.hpp"
#endif

namespace {

using contest::buffer;
using contest::enter;
using contest::random;
using vector10 = Eigen::Array<float, 10, 1>;
using matrix10 = Eigen::Matrix<float, 10, 10>;  // by columns, so that W x adds scaled columns

constexpr std::size_t n = 10;

vector10 sigmoid(const vector10& z) {
  return 1 / (1 + (-z).exp());
}

matrix10 weights() {
  return Eigen::Map<const Eigen::Matrix<float, 10, 10, Eigen::RowMajor>>(random("w", n * n));
}
vector10 column(const char* name) {
  return Eigen::Map<const vector10>(random(name, n));
}

void layer_contests() {
  enter("small/forward", "hand", n, [] {
    return [w = weights(), x = column("x"), b = column("b"), y = buffer("y", n)] {
      const vector10 z = (w * x.matrix()).array() + b;
      Eigen::Map<vector10>{y} = sigmoid(z);
      return static_cast<const float*>(y);
    };
  });
  enter("small/backward", "hand", n * n, [] {
    return [w = weights(), x = column("x"), b = column("b"), gw = buffer("gw", n * n), gb = buffer("gb", n)] {
      const vector10 z = (w * x.matrix()).array() + b, y = sigmoid(z), gz = y * (1 - y);
      Eigen::Map<vector10>{gb} = gz;
      Eigen::Map<Eigen::Matrix<float, 10, 10, Eigen::RowMajor>>{gw}.noalias() = gz.matrix() * x.matrix().transpose();
      return static_cast<const float*>(gw);
    };
  });
  if (peers::torch_found()) {
    enter("small/forward", "torch", n,
          [] { return peers::torch_small(random("w", n * n), random("x", n), random("b", n), n, false); });
    enter("small/backward", "torch", n * n,
          [] { return peers::torch_small(random("w", n * n), random("x", n), random("b", n), n, true); });
  }
}

/// The 1-10-1 network with its gradients written out.
struct curve_network {
  vector10 w1 = column("w1"), b1 = vector10::Zero(), w2 = column("w2");
  float b2 = 0;

  float step(float x, float target, float rate) {
    const vector10 h = sigmoid(w1 * x + b1);
    const float y = 1 / (1 + std::exp(-((w2 * h).sum() + b2)));
    const float gz = 2 * (y - target) * y * (1 - y);
    const vector10 gh = gz * w2 * h * (1 - h);
    w2 -= rate * gz * h;
    b2 -= rate * gz;
    w1 -= rate * x * gh;
    b1 -= rate * gh;
    return (y - target) * (y - target);
  }
};

void curve_contests() {
  const float x = 0.4F, target = std::sin(0.4F) * std::sin(0.4F);
  enter("small/curve", "hand", 0, [=] {
    return [=, net = curve_network(), loss = buffer("loss", 1)]() mutable {
      *loss = net.step(x, target, 0.1F);
      return static_cast<const float*>(loss);
    };
  });
  if (peers::torch_found()) enter("small/curve", "torch", 0, [] { return peers::torch_curve_step(); });
}

#if __has_include(<kiln/kiln.hpp>)
void kiln_contests() {
  enter("small/forward", "kiln", n, [] {
    return [w = peers::tensor(random("w", n * n), {n, n}), x = peers::tensor(random("x", n), {n, 1}),
            b = peers::tensor(random("b", n), {n, 1}), y = peers::result({n, 1})]() mutable {
      y = kiln::sigmoid(matmul(w, x) + b);
      return peers::data(y);
    };
  });
  enter("small/backward", "kiln", n * n, [] {
    auto w = peers::tensor(random("w", n * n), {n, n}), b = peers::tensor(random("b", n), {n, 1});
    w.requires_grad();
    b.requires_grad();
    return [w, b, x = peers::tensor(random("x", n), {n, 1})]() mutable {
      w.zero_grad();
      b.zero_grad();
      kiln::Tensor<float> loss = sum(kiln::sigmoid(matmul(w, x) + b));
      backward(loss);
      return peers::data(w.grad());
    };
  });
  enter("small/curve", "kiln", 0, [] {
    auto w1 = peers::tensor(random("w1", n), {1, n}), b1 = peers::result({n});
    auto w2 = peers::tensor(random("w2", n), {n, 1}), b2 = peers::result({1});
    const float sine = std::sin(0.4F);
    auto x = peers::tensor(buffer("in", 1), {1, 1}), t = peers::tensor(buffer("in", 1), {1, 1});
    x = x + 0.4F;
    t = t + sine * sine;
    for (auto* p : {&w1, &b1, &w2, &b2}) p->requires_grad();
    return [=, loss = peers::result({1})]() mutable {
      const auto h = kiln::sigmoid(matmul(x, w1) + b1);
      loss = mean(square(kiln::sigmoid(matmul(h, w2) + b2) - t));
      backward(loss);
      for (auto* p : {&w1, &b1, &w2, &b2}) {
        *p -= 0.1F * p->grad();
        p->zero_grad();
      }
      return peers::data(loss);
    };
  });
}
#endif

[[maybe_unused]] const bool registered = [] {
  layer_contests();
  curve_contests();
#if __has_include(<kiln/kiln.hpp>)
  kiln_contests();
#endif
  return true;
}();

}  // namespace
