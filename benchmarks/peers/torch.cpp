// SPDX-License-Identifier: BSL-1.0
// libtorch's side of the contests. The inputs are the contest's own memory, wrapped without a copy.
#include "torch.hpp"

#include <torch/torch.h>

#include <cmath>
#include <memory>
#include <vector>

namespace peers {
namespace {

using at::Tensor;

Tensor wrap(const float* data, std::vector<std::int64_t> shape) {
  return torch::from_blob(const_cast<float*>(data), shape);
}
std::int64_t size(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

/// A step that evaluates `f` without recording, into a result that lives until the next step, as `y = f()` does.
template <class F>
step value(F f) {
  return [f, y = Tensor()]() mutable {
    const torch::NoGradGuard quiet;
    y = f();
    return y.template data_ptr<float>();
  };
}

/// A step that evaluates the scalar `f`, runs backward and returns the gradient of the first leaf.
template <class F>
step gradient(std::vector<Tensor> leaves, F f) {
  for (Tensor& leaf : leaves) leaf.requires_grad_();
  return [f, leaves]() mutable {
    for (Tensor& leaf : leaves) leaf.mutable_grad() = Tensor();
    f(leaves).backward();
    return static_cast<const float*>(leaves[0].grad().template data_ptr<float>());
  };
}

/// Starts on one thread, as the contests do unless they say otherwise.
[[maybe_unused]] const bool one_thread = [] {
  torch::set_num_threads(1);
  return true;
}();

}  // namespace

bool torch_found() {
  return true;
}
std::string torch_version() {
  return TORCH_VERSION;
}
void torch_threads(int count) {
  torch::set_num_threads(count);
}

step torch_map(const float* a, const float* b, const float* c, std::size_t n) {
  return value([a = wrap(a, {size(n)}), b = wrap(b, {size(n)}), c = wrap(c, {size(n)})] {
    return torch::relu(a * b + c) - 0.5 * torch::tanh(a);
  });
}

step torch_map_gradient(const float* a, const float* b, const float* c, std::size_t n) {
  return gradient({wrap(a, {size(n)}), wrap(b, {size(n)}), wrap(c, {size(n)})}, [](std::vector<Tensor>& v) {
    return (torch::relu(v[0] * v[1] + v[2]) - 0.5 * torch::tanh(v[0])).sum();
  });
}

step torch_combine(const float* a, const float* b, const float* c, const float* d, std::size_t n) {
  return value([a = wrap(a, {size(n)}), b = wrap(b, {size(n)}), c = wrap(c, {size(n)}), d = wrap(d, {size(n)})] {
    return a * b + c - 0.5 * d;
  });
}

step torch_broadcast(const float* a, const float* row, const float* col, std::size_t rows, std::size_t cols) {
  return value([a = wrap(a, {size(rows), size(cols)}), row = wrap(row, {size(cols)}),
                col = wrap(col, {size(rows), 1})] { return (a + row) * col; });
}

step torch_gelu_gradient(const float* x, const float* w, const float* b, std::size_t n) {
  return gradient({wrap(x, {size(n)}), wrap(w, {size(n)}), wrap(b, {size(n)})},
                  [](std::vector<Tensor>& v) { return torch::gelu(v[0] * v[1] + v[2]).sum(); });
}

step torch_softmax(const float* x, std::size_t rows, std::size_t cols) {
  return value([x = wrap(x, {size(rows), size(cols)})] { return torch::softmax(x, -1); });
}
step torch_layer_norm(const float* x, std::size_t rows, std::size_t cols) {
  return value([x = wrap(x, {size(rows), size(cols)})] { return torch::layer_norm(x, {x.size(1)}); });
}
step torch_softmax_gradient(const float* x, const float* g, std::size_t rows, std::size_t cols) {
  return gradient({wrap(x, {size(rows), size(cols)})}, [g = wrap(g, {size(rows), size(cols)})](std::vector<Tensor>& v) {
    return (torch::softmax(v[0], -1) * g).sum();
  });
}
step torch_layer_norm_gradient(const float* x, const float* g, std::size_t rows, std::size_t cols) {
  return gradient({wrap(x, {size(rows), size(cols)})}, [g = wrap(g, {size(rows), size(cols)})](std::vector<Tensor>& v) {
    return (torch::layer_norm(v[0], {v[0].size(1)}) * g).sum();
  });
}

step torch_reduce(const std::string& name, int axis, const float* x, std::size_t rows, std::size_t cols) {
  return value([name, axis, x = wrap(x, {size(rows), size(cols)})] {
    if (axis < 0) return name == "sum" ? x.sum() : name == "mean" ? x.mean() : x.max();
    return name == "sum" ? x.sum(axis) : name == "mean" ? x.mean(axis) : x.amax(axis);
  });
}

step torch_transpose_add(const float* a, const float* b, std::size_t side) {
  return value([a = wrap(a, {size(side), size(side)}), b = wrap(b, {size(side), size(side)})] { return a + b.t(); });
}

step torch_matmul(const float* a, const float* b, std::size_t rows, std::size_t inner, std::size_t cols) {
  return value(
      [a = wrap(a, {size(rows), size(inner)}), b = wrap(b, {size(inner), size(cols)})] { return torch::matmul(a, b); });
}

step torch_small(const float* w, const float* x, const float* b, std::size_t n, bool backward) {
  const auto f = [x = wrap(x, {size(n), 1})](const Tensor& weights, const Tensor& shift) {
    return torch::sigmoid(torch::matmul(weights, x) + shift);
  };
  const Tensor weight = wrap(w, {size(n), size(n)}), bias = wrap(b, {size(n), 1});
  if (!backward) return value([f, weight, bias] { return f(weight, bias); });
  return gradient({weight, bias}, [f](std::vector<Tensor>& v) { return f(v[0], v[1]).sum(); });
}

step torch_curve_step() {
  std::vector<Tensor> p = {torch::randn({10, 1}), torch::zeros({10}), torch::randn({1, 10}), torch::zeros({1})};
  for (Tensor& each : p) each.requires_grad_();
  auto sgd = std::make_shared<torch::optim::SGD>(p, torch::optim::SGDOptions(0.1));
  const Tensor x = torch::full({1, 1}, 0.4F), t = torch::full({1, 1}, std::sin(0.4F) * std::sin(0.4F));
  return [p, sgd, x, t, loss = Tensor()]() mutable {
    sgd->zero_grad();
    const Tensor y = torch::sigmoid(torch::linear(torch::sigmoid(torch::linear(x, p[0], p[1])), p[2], p[3]));
    loss = torch::mse_loss(y, t);
    loss.backward();
    sgd->step();
    return static_cast<const float*>(loss.data_ptr<float>());
  };
}

step torch_mnist_step(const float* x, const float* t, std::size_t batch) {
  std::vector<Tensor> p = {torch::randn({256, 784}) * std::sqrt(2.0 / 784), torch::zeros({256}),
                           torch::randn({10, 256}) * std::sqrt(2.0 / 256), torch::zeros({10})};
  for (Tensor& each : p) each.requires_grad_();
  auto sgd = std::make_shared<torch::optim::SGD>(p, torch::optim::SGDOptions(0.1).momentum(0.9));
  const Tensor images = wrap(x, {size(batch), 784}), labels = wrap(t, {size(batch), 10}).argmax(1);
  return [p, sgd, images, labels, loss = Tensor()]() mutable {
    sgd->zero_grad();
    const Tensor hidden = torch::relu(torch::linear(images, p[0], p[1]));
    loss = torch::cross_entropy_loss(torch::linear(hidden, p[2], p[3]), labels);
    loss.backward();
    sgd->step();
    return static_cast<const float*>(loss.data_ptr<float>());
  };
}

namespace {

/// Steps of Adam on what `loss` computes with the module.
template <class Module, class Loss>
step adam_steps(Module module, Loss loss) {
  auto adam = std::make_shared<torch::optim::Adam>(module->parameters(), torch::optim::AdamOptions(0.003));
  return [module, adam, loss, value = Tensor()]() mutable {
    adam->zero_grad();
    value = loss(module);
    value.backward();
    adam->step();
    return static_cast<const float*>(value.data_ptr<float>());
  };
}
Tensor classes(std::size_t batch) {
  return torch::arange(size(batch)) * 7 % 10;
}
Tensor relu3(const Tensor& x) {
  return torch::where(x < 0, torch::zeros({}), torch::where(x < 1, x * x * x / 3, x - 2.0 / 3));
}

}  // namespace

step torch_knossos_step(const float* x, std::size_t batch) {
  struct network : torch::nn::Module {
    torch::nn::Linear fc1{784, 256}, fc2{256, 128}, fc3{128, 64}, fc4{64, 10};
    torch::nn::BatchNorm1d norm2{128}, norm3{64};
    network() {
      register_module("fc1", fc1), register_module("fc2", fc2), register_module("fc3", fc3);
      register_module("fc4", fc4), register_module("norm2", norm2), register_module("norm3", norm3);
    }
  };
  return adam_steps(std::make_shared<network>(), [x = wrap(x, {size(batch), 784}), y = classes(batch)](auto& net) {
    const Tensor h2 = torch::dropout(relu3(net->norm2(net->fc2(relu3(net->fc1(x))))), 0.3, true);
    return torch::nll_loss(torch::log_softmax(net->fc4(relu3(net->norm3(net->fc3(h2)))), 1), y);
  });
}

step torch_cnn_step(const float* x, std::size_t batch) {
  struct network : torch::nn::Module {
    torch::nn::Conv2d conv1{torch::nn::Conv2dOptions(1, 32, 3).padding(1)},
        conv2{torch::nn::Conv2dOptions(32, 64, 3).padding(1)};
    torch::nn::Linear fc1{3136, 128}, fc2{128, 10};
    network() {
      register_module("conv1", conv1), register_module("conv2", conv2);
      register_module("fc1", fc1), register_module("fc2", fc2);
    }
  };
  return adam_steps(std::make_shared<network>(),
                    [x = wrap(x, {size(batch), 1, 28, 28}), y = classes(batch)](auto& net) {
                      Tensor h = torch::max_pool2d(torch::relu(net->conv1(x)), 2);
                      h = torch::max_pool2d(torch::relu(net->conv2(h)), 2).flatten(1);
                      return torch::cross_entropy_loss(net->fc2(torch::relu(net->fc1(h))), y);
                    });
}

step torch_lstm_step(const float* x, std::size_t batch, std::size_t times) {
  struct network : torch::nn::Module {
    torch::nn::LSTM lstm{torch::nn::LSTMOptions(64, 128).batch_first(true)};
    torch::nn::Linear fc{128, 10};
    network() { register_module("lstm", lstm), register_module("fc", fc); }
  };
  return adam_steps(std::make_shared<network>(), [x = wrap(x, {size(batch), size(times), 64}), y = classes(batch),
                                                  last = size(times) - 1](auto& net) {
    return torch::cross_entropy_loss(net->fc(std::get<0>(net->lstm(x)).select(1, last)), y);
  });
}

step torch_block_step(const float* x, std::size_t batch, std::size_t times) {
  // Written out of a fused attention, as torch.nn.TransformerEncoderLayer is in Python.
  struct network : torch::nn::Module {
    torch::nn::Linear in{128, 384}, out{128, 128}, linear1{128, 512}, linear2{512, 128};
    torch::nn::LayerNorm norm1{torch::nn::LayerNormOptions({128})}, norm2{torch::nn::LayerNormOptions({128})};
    network() {
      register_module("in", in), register_module("out", out), register_module("linear1", linear1);
      register_module("linear2", linear2), register_module("norm1", norm1), register_module("norm2", norm2);
    }
  };
  return adam_steps(std::make_shared<network>(), [x = wrap(x, {size(batch), size(times), 128})](auto& net) {
    const auto b = x.size(0), t = x.size(1);
    const auto parts = net->in(x).reshape({b, t, 3, 4, 32}).permute({2, 0, 3, 1, 4}).unbind(0);
    const Tensor mixed = at::scaled_dot_product_attention(parts[0], parts[1], parts[2]);
    const Tensor y = net->norm1(x + net->out(mixed.transpose(1, 2).reshape({b, t, 128})));
    return torch::mse_loss(net->norm2(y + net->linear2(torch::relu(net->linear1(y)))), torch::zeros_like(x));
  });
}

}  // namespace peers
