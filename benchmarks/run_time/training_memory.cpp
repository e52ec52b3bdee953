// SPDX-License-Identifier: BSL-1.0
// Memory of training: bytes in use at the peak of a step of the examples' networks, in whole blocks and on one thread,
// beside parameters, gradients, the optimizer's state, the batch, and what backward truly needs; what is in use after
// 100 and after 10,000 steps; and attention's peak over the length.
//
// What backward truly needs is written down at each network, by its shapes: `keeps` is what derivatives read of a layer
// (its inputs and results, but what is one elementwise function away from something kept), `gives` its result, whose
// gradient is there when its backward begins, and `beside` gradients that wait meanwhile for another branch. Of the
// moments of a backward pass, each with what the layers so far keep, a layer's gradient coming in and that going out,
// the largest counts. Nothing for temporaries of a kernel, records of the graph, or sizes rounded up to blocks.
#include "../../examples/autoencoder/train.hpp"
#include "../../examples/char_gpt/train.hpp"
#include "../../examples/char_lstm/train.hpp"
#include "../../examples/knossos/network.hpp"
#include "../../examples/mnist_cnn/train.hpp"
#include "../../examples/mnist_mlp/train.hpp"

#include <kiln/nn.hpp>
#include <kiln/optim.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

using namespace kiln;

namespace {

/// Makes the pool's peak that of bytes in use: nothing is kept for reuse, neither by the pool nor by this thread.
void keep_nothing() {
  cpu::set_num_threads(1);
  cpu::set_cache_limit(0);
  cpu::process::find_thread_cache();
  cpu::empty_cache();
  cpu::process::this_thread.ended = true;
  cpu::process::this_thread.cache = nullptr;
}
std::size_t in_use() {
  return cpu::memory_stats().in_use;
}
void forget_peak() {
  cpu::process::pool().peak = cpu::process::pool().mapped;
}
std::size_t peak() {
  return cpu::memory_stats().peak;
}

struct layer {
  const char* name;                       // for who reads these lists
  std::int64_t keeps, gives, beside = 0;  // in elements of float
};

std::int64_t needed_by_backward(const std::vector<layer>& net) {
  std::int64_t kept = 0, most = 0;
  for (std::size_t i = 0; i < net.size(); ++i) {
    kept += net[i].keeps;
    most = std::max(most, kept + net[i].gives + net[i].beside + (i > 0 ? net[i - 1].gives : 0));
  }
  return most * 4;
}

double megabytes(std::size_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

/// Trains a network on one batch, `loss(net)` being a step's, and prints a row.
template <class Net, class Make, class Loss>
void measure(const char* name, std::int64_t states, std::size_t batch_bytes, const std::vector<layer>& layers, Net net,
             Make make, Loss loss, std::size_t before) {
  auto opt = make(nn::parameters(net));
  std::size_t after_forward = 0, forward_peak = 0, backward_peak = 0, step_peak = 0;
  const auto step = [&] {
    forget_peak();
    const Tensor<float> now = loss(net);
    after_forward = in_use(), forward_peak = peak();
    forget_peak();
    opt.zero_grad();
    backward(now);
    backward_peak = peak();
    forget_peak();
    opt.step();
    step_peak = peak();
  };
  for (int i = 0; i < 5; ++i) step();
  std::size_t parameters = 0;
  for (const auto& p : nn::parameters(net)) parameters += static_cast<std::size_t>(p.numel()) * 4;
  const std::size_t state = static_cast<std::size_t>(states) * parameters;
  const std::size_t needs = static_cast<std::size_t>(needed_by_backward(layers));
  const std::size_t sum = 2 * parameters + state + batch_bytes + needs;
  const std::size_t most = std::max({forward_peak, backward_peak, step_peak}) - before;
  std::printf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", name, megabytes(parameters),
              megabytes(parameters), megabytes(state), megabytes(batch_bytes), megabytes(needs), megabytes(sum),
              megabytes(most), static_cast<double>(most) / static_cast<double>(sum));
  std::printf("    in use between steps %.3f, after forward %.3f; peaks of forward %.3f, backward %.3f, update %.3f\n",
              megabytes(in_use() - before), megabytes(after_forward - before), megabytes(forward_peak - before),
              megabytes(backward_peak - before), megabytes(step_peak - before));
}

const auto adam = [](const std::vector<Tensor<float>>& p) { return optim::Adam<float>(p, {.lr = 1e-3}); };

Tensor<std::int64_t> classes(std::int64_t n, std::int64_t of) {
  return remainder(arange<std::int64_t>(n) * 7, of);
}

void mnist_mlp() {
  const std::size_t before = in_use();
  constexpr std::int64_t b = 64;
  const Tensor<float> x = rand<float>({b, 784});
  const Tensor<std::int64_t> y = classes(b, 10);
  // relu's derivative reads its result, which fc2 has as its input; cross-entropy's the scores.
  measure(
      "mnist_mlp", 1, b * (784 * 4 + 8), {{"relu(fc1)", b * 256, b * 256}, {"fc2", b * 10, b * 10}}, mnist::Mlp<Cpu>{},
      [](const auto& p) { return optim::SGD<float>(p, {.lr = 0.1, .momentum = 0.9}); },
      [&](const auto& net) {
        const Tensor<float> scores = net(x);
        return Tensor<float>(nn::cross_entropy(scores, y));
      },
      before);
}

void knossos_network() {
  const std::size_t before = in_use();
  constexpr std::int64_t b = 64;
  const Tensor<float> x = rand<float>({b, 784});
  const Tensor<std::int64_t> y = classes(b, 10);
  // relu3's derivative reads what goes into it, fc2's what comes out of it; a norm's its input and two numbers a
  // column, from which its result follows elementwise; dropout's draws follow from their seed.
  measure(
      "Knossos", 2, b * (784 * 4 + 8),
      {{"fc1", b * 256, b * 256},
       {"relu3", b * 256, b * 256},
       {"fc2", b * 128, b * 128},
       {"drop(relu3(norm2))", b * 128 + 2 * 128, b * 128},
       {"fc3", b * 64, b * 64},
       {"relu3(norm3)", b * 64 + 2 * 64, b * 64},
       {"log_softmax(fc4)", b * 10, b * 10}},
      knossos::network{}, adam,
      [&](const auto& net) {
        const Tensor<float> out = net(x);
        return Tensor<float>(nn::nll_loss(out, y));
      },
      before);
}

void cnn() {
  const std::size_t before = in_use();
  constexpr std::int64_t b = 64;
  const Tensor<float> x = rand<float>({b, 784});
  const Tensor<std::int64_t> y = classes(b, 10);
  // relu's derivative reads its result, max_pool2d's its input, the same, and its own result.
  measure(
      "mnist_cnn", 2, b * (784 * 4 + 8),
      {{"relu(conv1)", b * 16 * 784, b * 16 * 784},
       {"max_pool2d", b * 16 * 196, b * 16 * 196},
       {"relu(conv2)", b * 32 * 196, b * 32 * 196},
       {"max_pool2d", b * 32 * 49, b * 32 * 49},
       {"relu(fc1)", b * 128, b * 128},
       {"fc2", b * 10, b * 10}},
      mnist::Cnn<Cpu>{}, adam,
      [&](const auto& net) {
        const Tensor<float> scores = net(x);
        return Tensor<float>(nn::cross_entropy(scores, y));
      },
      before);
}

void autoencoder_network() {
  const std::size_t before = in_use();
  constexpr std::int64_t b = 64;
  const Tensor<float> x = rand<float>({b, 784});
  // The loss' derivative reads the scores and the images.
  measure(
      "autoencoder", 2, b * 784 * 4,
      {{"relu(in)", b * 128, b * 128},
       {"relu(code)", b * 16, b * 16},
       {"relu(wide)", b * 128, b * 128},
       {"out", b * 784, b * 784}},
      autoencoder::Autoencoder<Cpu>{}, adam,
      [&](const auto& net) { return Tensor<float>(nn::binary_cross_entropy_with_logits(net(x), x)); }, before);
}

void lstm() {
  const std::size_t before = in_use();
  constexpr std::int64_t b = 16, t = char_lstm::window, e = char_lstm::width, h = char_lstm::units, c = 65;
  const Tensor<std::int64_t> x = classes(b * t, c).reshape({b, t}), y = classes(b * t, c).reshape({b, t});
  // Of each time the four gates after their functions, the cell and the output. The gradient of what goes into the
  // gates is there for all times, for the products with it at the end.
  measure(
      "char_lstm", 2, 2 * b * t * 8,
      {{"embedding", b * t * e, b * t * e},
       {"products of its inputs", 0, b * t * h * 4},
       {"steps", b * t * h * 6, b * t * h},
       {"scores", b * t * c, b * t * c}},
      char_lstm::Model<Cpu>{c}, adam, [&](const auto& net) { return support::next_character_loss<Cpu>(net, x, y); },
      before);
}

void gpt() {
  const std::size_t before = in_use();
  constexpr std::int64_t b = 16, t = char_gpt::window, w = char_gpt::width, c = 65, n = b * t;
  const Tensor<std::int64_t> x = classes(n, c).reshape({b, t}), y = classes(n, c).reshape({b, t});
  std::vector<layer> layers{{"embeddings", n * w, n * w}};
  for (std::int64_t i = 0; i < char_gpt::layers; ++i) {
    // A norm keeps its input, which is what the branches before it were added to, two numbers a row, and its result for
    // the product; attention queries, keys, values, its result for the product and a number for each row and head.
    layers.push_back({"norm1", 2 * n + n * w, n * w, n * w});
    layers.push_back({"in projection", n * 3 * w, n * 3 * w, n * w});
    layers.push_back({"attention", n * w + n * char_gpt::heads, n * w, n * w});
    layers.push_back({"out projection, added", n * w, n * w});
    layers.push_back({"norm2", 2 * n + n * w, n * w, n * w});
    layers.push_back({"linear1", n * 4 * w, n * 4 * w, n * w});
    layers.push_back({"gelu", n * 4 * w, n * 4 * w, n * w});
    layers.push_back({"linear2, added", n * w, n * w});
  }
  layers.push_back({"norm", 2 * n + n * w, n * w});
  layers.push_back({"scores", n * c, n * c});
  measure(
      "char_gpt", 2, 2 * n * 8, layers, char_gpt::Gpt<Cpu>{c},
      [](const auto& p) { return optim::AdamW<float>(p, {.lr = 1e-3}); },
      [&](const auto& net) { return support::next_character_loss<Cpu>(net, x, y); }, before);
}

struct small_network {
  nn::Linear<float> fc1{8, 16}, fc2{16, 3};
  Tensor<float> operator()(const Tensor<float>& x) const { return fc2(relu(fc1(x))); }
};

void steady() {
  const small_network net;
  optim::Adam<float> opt(nn::parameters(net));
  const Tensor<float> x = randn<float>({32, 8});
  const Tensor<std::int64_t> y = classes(32, 3);
  for (int i = 1; i <= 10000; ++i) {
    const Tensor<float> loss = nn::cross_entropy(net(x), y);
    opt.zero_grad();
    backward(loss);
    opt.step();
    if (i == 100 || i == 10000) std::printf("in use after step %d: %zu bytes, peak %zu\n", i, in_use(), peak());
    if (i == 10) forget_peak();
  }
}

void attention() {
  for (const std::int64_t length : {512, 1024, 2048, 4096}) {
    Tensor<float> q = randn<float>({4, length, 64}), k = randn<float>({4, length, 64}),
                  v = randn<float>({4, length, 64});
    for (auto* each : {&q, &k, &v}) each->requires_grad();
    const std::size_t before = in_use();
    forget_peak();
    backward(sum(scaled_dot_product_attention(q, k, v, {.causal = true})));
    std::printf(
        "attention of 4 heads of 64, forward and backward, length %lld: %.3f MB over its operands, %.1f bytes "
        "a place (the scores are %.1f MB)\n",
        static_cast<long long>(length), megabytes(peak() - before),
        static_cast<double>(peak() - before) / static_cast<double>(length),
        static_cast<double>(length * length) * 4 * 4 / 1e6);
  }
}

}  // namespace

int main() {
  keep_nothing();
  std::puts("MB: | network | parameters | gradients | optimizer | batch | backward needs | sum | peak | ratio |");
  mnist_mlp();
  knossos_network();
  cnn();
  autoencoder_network();
  lstm();
  gpt();
  steady();
  attention();
}
