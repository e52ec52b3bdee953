// SPDX-License-Identifier: BSL-1.0
// One training step of the mnist_mlp example (784-256-10, relu, cross-entropy, SGD with momentum, batch 64) on one
// thread and on two, beside libtorch and a step written out by hand over Eigen's products (one thread).
#include "../peers/contest.hpp"
#include "../peers/packet.hpp"
#include "../peers/torch.hpp"

#include <cmath>
#include <string>

#if __has_include(<kiln/kiln.hpp>)
#include "../peers/kiln.hpp"
#endif

namespace {

using contest::buffer;
using contest::enter;
using contest::random;
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using row = Eigen::RowVectorXf;

constexpr std::size_t batch = 64, inputs = 784, hidden = 256, classes = 10;
constexpr float rate = 0.1F, momentum = 0.9F;

/// One-hot targets, the same for every peer.
const float* targets() {
  float* t = buffer("targets", batch * classes);
  for (std::size_t i = 0; i < batch; ++i) t[i * classes + i * 7 % classes] = 1;
  return t;
}

/// A parameter with its momentum, updated in one sweep.
template <class Array>
struct parameter {
  Array value, velocity;
  explicit parameter(const Array& start) : value(start), velocity(Array::Zero(start.rows(), start.cols())) {}
  template <class Gradient>
  void step(const Gradient& g) {
    velocity.noalias() = momentum * velocity + g;
    value.noalias() -= rate * velocity;
  }
};

struct hand_network {
  static matrix start(const char* name, Eigen::Index r, Eigen::Index c) {
    const float scale = std::sqrt(1.5F / static_cast<float>(r));  // uniform in [-2, 2] has variance 4 / 3
    return Eigen::Map<const matrix>(random(name, static_cast<std::size_t>(r * c)), r, c) * scale;
  }
  parameter<matrix> w1{start("w1", inputs, hidden)}, w2{start("w2", hidden, classes)};
  parameter<row> b1{row::Zero(hidden)}, b2{row::Zero(classes)};
  matrix h{batch, hidden}, z{batch, classes}, gh{batch, hidden}, g1{inputs, hidden}, g2{hidden, classes};

  float step(const Eigen::Map<const matrix>& x, const Eigen::Map<const matrix>& t) {
    h.noalias() = x * w1.value;
    h = (h.rowwise() + b1.value).cwiseMax(0.0F);
    z.noalias() = h * w2.value;
    z.rowwise() += b2.value;
    float loss = 0;
    for (Eigen::Index i = 0; i < z.rows(); ++i) {
      const float most = z.row(i).maxCoeff(), total = std::log((z.row(i).array() - most).exp().sum()) + most;
      loss += total - z.row(i).dot(t.row(i));
      z.row(i) = ((z.row(i).array() - total).exp() - t.row(i).array()) / static_cast<float>(batch);
    }
    g2.noalias() = h.transpose() * z;
    gh.noalias() = z * w2.value.transpose();
    gh = (h.array() > 0).select(gh, 0.0F);
    g1.noalias() = x.transpose() * gh;
    w2.step(g2);
    b2.step(z.colwise().sum());
    w1.step(g1);
    b1.step(gh.colwise().sum());
    return loss / static_cast<float>(batch);
  }
};

#if __has_include(<kiln/kiln.hpp>)
struct kiln_network {
  kiln::Tensor<float> w1, b1, w2, b2, v1, u1, v2, u2;
  kiln_network()
      : w1(0.05F * kiln::randn<float>({inputs, hidden})),
        b1(kiln::zeros<float>({hidden})),
        w2(0.09F * kiln::randn<float>({hidden, classes})),
        b2(kiln::zeros<float>({classes})),
        v1(kiln::zeros_like(w1)),
        u1(kiln::zeros_like(b1)),
        v2(kiln::zeros_like(w2)),
        u2(kiln::zeros_like(b2)) {
    for (auto* p : {&w1, &b1, &w2, &b2}) p->requires_grad();
  }
  kiln::Tensor<float> step(const kiln::Tensor<float>& x, const kiln::Tensor<float>& t) {
    const auto h = relu(matmul(x, w1) + b1);
    kiln::Tensor<float> loss = -mean(sum(log_softmax(matmul(h, w2) + b2, 1) * t, 1));
    backward(loss);
    kiln::Tensor<float>*values[] = {&w1, &b1, &w2, &b2}, *velocities[] = {&v1, &u1, &v2, &u2};
    for (std::size_t i = 0; i < 4; ++i) {
      *velocities[i] = momentum * *velocities[i] + values[i]->grad();
      *values[i] -= rate * *velocities[i];
      values[i]->zero_grad();
    }
    return loss;
  }
};
#endif

[[maybe_unused]] const bool registered = [] {
  const auto images = [] { return random("images", batch * inputs, 0, 1); };
  enter("mnist_step/1", "hand", 0, [=] {
    return [net = hand_network(), x = Eigen::Map<const matrix>(images(), batch, inputs),
            t = Eigen::Map<const matrix>(targets(), batch, classes), loss = buffer("loss", 1)]() mutable {
      *loss = net.step(x, t);
      return static_cast<const float*>(loss);
    };
  });
  for (const int threads : {1, 2}) {
    const std::string work = "mnist_step/" + std::to_string(threads);
    if (peers::torch_found())
      enter(work, "torch", 0, [=] {
        peers::torch_threads(threads);
        return peers::torch_mnist_step(images(), targets(), batch);
      });
#if __has_include(<kiln/kiln.hpp>)
    enter(work, "kiln", 0, [=] {
      kiln::cpu::set_num_threads(threads);
      return [net = kiln_network(), x = peers::tensor(images(), {batch, inputs}),
              t = peers::tensor(targets(), {batch, classes}), loss = peers::result({1})]() mutable {
        loss = net.step(x, t);
        return peers::data(loss);
      };
    });
#endif
  }
  return true;
}();

}  // namespace
