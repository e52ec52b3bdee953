// SPDX-License-Identifier: BSL-1.0
// Learns handwritten digits: a 784-256-10 network with relu, cross-entropy, and gradient descent with momentum, all of
// it in kiln's tensors. The last line of output is test_accuracy=. Read `mlp` and `train_step` first; the rest is data.
#include "digit_set.hpp"
#include "digits.hpp"
#include "learning_curve.hpp"
#include "load_digits.hpp"
#include "options.hpp"
#include "progress.hpp"

#include <kiln/kiln.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <span>
#include <utility>
#include <vector>

namespace mnist {

using kiln::Tensor;

/// A parameter and the velocity that momentum keeps for it.
struct parameter {
  Tensor<float> value, velocity;

  explicit parameter(const Tensor<float>& start) : value(start), velocity(kiln::zeros_like(start)) {
    value.requires_grad();
  }
  void step(float learning_rate, float momentum) {
    velocity = momentum * velocity + value.grad();
    value -= learning_rate * velocity;
    value.zero_grad();
  }
};

/// 784 pixels -> 256 hidden units -> 10 scores, one per digit.
struct mlp {
  // Weights start with variance 2 / inputs, which keeps the signal's size through relu (He et al., 2015).
  parameter w1{std::sqrt(2.0F / 784) * kiln::randn<float>({784, 256})}, b1{kiln::zeros<float>({256})};
  parameter w2{std::sqrt(2.0F / 256) * kiln::randn<float>({256, 10})}, b2{kiln::zeros<float>({10})};

  auto operator()(const Tensor<float>& x) const {
    const auto hidden = relu(matmul(x, w1.value) + b1.value);  // (batch, 256)
    return matmul(hidden, w2.value) + b2.value;                // (batch, 10)
  }
};

/// Some digits as tensors: pixels from 0 to 1, and what they show.
struct batch {
  Tensor<float> images;         // (n, 784)
  Tensor<std::int64_t> labels;  // (n)
};

/// The digits of `set` that `which` names.
batch pick(const digit_set& set, std::span<const std::int64_t> which) {
  const auto n = static_cast<std::int64_t>(which.size());
  batch out{kiln::empty<float>({n, std::int64_t{image_size}}), kiln::empty<std::int64_t>({n})};
  float* image = out.images.data();
  std::int64_t* label = out.labels.data();
  for (const std::int64_t at : which) {
    const auto i = static_cast<std::size_t>(at);
    const std::uint8_t* pixel = set.pixels.data() + i * image_size;
    image = std::transform(pixel, pixel + image_size, image, [](int ink) { return static_cast<float>(ink) / 255; });
    *label++ = set.labels[i];
  }
  return out;
}

/// How many rows have their largest score at their label.
double count_right(const Tensor<float>& scores, const Tensor<std::int64_t>& labels) {
  const Tensor<std::int64_t> right = count_nonzero(argmax(scores, 1) == labels);
  return static_cast<double>(right.item());
}

/// One step of gradient descent. Returns the mean loss and the number of right answers before it.
std::pair<double, double> train_step(mlp& model, const batch& digits, const options& with) {
  Tensor<float> scores = model(digits.images);
  // Cross-entropy: the mean over the batch of -log(probability given to the right digit).
  const Tensor<float> targets = kiln::one_hot<float>(digits.labels, class_count);
  Tensor<float> loss = -mean(sum(log_softmax(scores, 1) * targets, 1));
  backward(loss);
  for (parameter* p : {&model.w1, &model.b1, &model.w2, &model.b2})
    p->step(static_cast<float>(with.learning_rate), static_cast<float>(with.momentum));
  return {loss.item(), count_right(scores, digits.labels)};
}

double test_accuracy(const mlp& model, const digit_set& set) {
  const kiln::no_grad quiet;
  const auto all = kiln::arange<std::int64_t>(static_cast<std::int64_t>(set.size()));
  const batch digits = pick(set, all.span());
  return count_right(model(digits.images), digits.labels) / static_cast<double>(set.size());
}

void run(const options& with) {
  const digit_data data = with.data.empty() ? draw_digits(with.seed) : load_digits(with.data);
  std::cout << "data: " << data.origin << " (" << data.train.size() << " train, " << data.test.size() << " test)\n";
  kiln::set_num_threads(static_cast<int>(with.threads));
  kiln::manual_seed(with.seed);

  mlp model;
  const std::size_t size = data.train.size(), step = static_cast<std::size_t>(with.batch);
  progress show(with.epochs, size);
  std::vector<curve_point> curve;
  for (std::int64_t epoch = 0; epoch < with.epochs; ++epoch) {
    const Tensor<std::int64_t> order = kiln::randperm(static_cast<std::int64_t>(size));
    show.begin_epoch();
    for (std::size_t at = 0; at < size; at += step) {
      const auto which = order.span().subspan(at, std::min(step, size - at));
      const auto [loss, right] = train_step(model, pick(data.train, which), with);
      if (!std::isfinite(loss))
        throw kiln::value_error("the loss is no longer finite; the steps are too large, try a smaller --lr");
      show.step(loss, right, which.size());
    }
    const double seconds = show.seconds();
    curve.push_back({show.mean_loss(), show.accuracy(), test_accuracy(model, data.test)});
    show.end_epoch(curve.back().test_accuracy, seconds);
  }
  if (!with.picture.empty()) std::cout << draw_curve(curve, with.picture) << '\n';
  std::printf("test_accuracy=%.4f\n", curve.back().test_accuracy);
}

}  // namespace mnist

int main(int argc, char** argv) {
  mnist::options with;
  if (const auto code = mnist::read_options(argc, argv, with)) return *code;
  try {
    mnist::run(with);
  } catch (const std::exception& e) {
    std::cerr << "mnist_mlp: " << e.what() << '\n';
    return 1;
  }
}
