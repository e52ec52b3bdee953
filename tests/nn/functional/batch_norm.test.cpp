// SPDX-License-Identifier: BSL-1.0
// batch_norm against plain loops in double, its gradients against finite differences, its running statistics against
// the formula.
#include <kiln/nn/functional/batch_norm.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/autograd/check_gradient.hpp>

#include "images.hpp"

using namespace kiln;
using images::grainy, images::values, images::wrong;

namespace {

struct loops {
  std::vector<double> y, mean, unbiased;
};

template <class T>
loops by_definition(const Tensor<T>& x, const std::vector<double>& w, const std::vector<double>& b, double eps) {
  const auto X = values(x);
  const std::size_t batch = static_cast<std::size_t>(x.sizes()[0]), channels = static_cast<std::size_t>(x.sizes()[1]);
  const std::size_t image = X.size() / batch / channels;
  const double n = static_cast<double>(batch * image);
  loops r{std::vector<double>(X.size()), {}, {}};
  auto each = [&](std::size_t c, auto f) {
    for (std::size_t i = 0; i < batch; ++i)
      for (std::size_t j = 0; j < image; ++j) f((i * channels + c) * image + j);
  };
  for (std::size_t c = 0; c < channels; ++c) {
    double mean = 0, squares = 0;
    each(c, [&](std::size_t i) { mean += X[i] / n; });
    each(c, [&](std::size_t i) { squares += (X[i] - mean) * (X[i] - mean); });
    each(c, [&](std::size_t i) { r.y[i] = (X[i] - mean) / std::sqrt(squares / n + eps) * w[c] + b[c]; });
    r.mean.push_back(mean);
    r.unbiased.push_back(squares / (n - 1));
  }
  return r;
}

const Tensor<double> none;

}  // namespace

TEST_CASE_TEMPLATE("batch_norm in training is what plain loops give", T, double, half) {
  for (const dims& sizes : {dims{4, 3}, dims{2, 5, 7}, dims{3, 4, 5, 6}, dims{2, 2, 2, 3, 4}}) {
    CAPTURE(sizes);
    const Tensor<T> x = grainy<T>(sizes, 1), w = grainy<T>({sizes[1]}, 2), b = grainy<T>({sizes[1]}, 3);
    using R = compute_t<T>;
    Tensor<R> mean = grainy<R>({sizes[1]}, 4), variance = grainy<R>({sizes[1]}, 5);
    const auto old_mean = values(mean), old_variance = values(variance);
    const loops expected = by_definition(x, values(w), values(b), 0.01);
    const auto y = batch_norm(x, mean, variance, w, b, {.training = true, .momentum = 0.25, .eps = 0.01});
    static_assert(std::is_same_v<decltype(y), const Tensor<T>>);
    CHECK(wrong(y, expected.y, 8 * std::max(images::rounding<T>(), 1e-7)) == 0);
    std::vector<double> new_mean, new_variance;
    for (std::size_t c = 0; c < old_mean.size(); ++c) {
      new_mean.push_back(0.75 * old_mean[c] + 0.25 * expected.mean[c]);
      new_variance.push_back(0.75 * old_variance[c] + 0.25 * expected.unbiased[c]);
    }
    CHECK(wrong(mean, new_mean, 1e-6) == 0);
    CHECK(wrong(variance, new_variance, 1e-6) == 0);

    // Evaluation uses the running ones, and leaves them alone.
    const Tensor<R> positive = variance.clone();
    for (R& v : positive.span()) v = std::fabs(v);
    const auto running = values(positive);
    const auto eval = batch_norm(x, mean, positive, w, b, {.eps = 0.5});
    std::vector<double> used;
    const auto X = values(x), W = values(w), B = values(b);
    const std::size_t image = X.size() / static_cast<std::size_t>(sizes[0] * sizes[1]);
    for (std::size_t i = 0; i < X.size(); ++i) {
      const std::size_t c = i / image % W.size();
      used.push_back((X[i] - new_mean[c]) / std::sqrt(running[c] + 0.5) * W[c] + B[c]);
    }
    CHECK(wrong(eval, used, 8 * std::max(images::rounding<T>(), 1e-7)) == 0);
    CHECK(wrong(mean, new_mean, 1e-6) == 0);
  }
}

TEST_CASE("a mean far from zero costs no accuracy") {
  Tensor<double> x = grainy<double>({8, 2, 10, 10});
  for (double& v : x.span()) v += 1 << 20;
  const Tensor<double> y = batch_norm(x, none, none, {.training = true});
  CHECK(wrong(y, by_definition(x, {1, 1}, {0, 0}, 1e-5).y, 1e-8) == 0);
}

TEST_CASE("gradients of batch_norm agree with finite differences") {
  const Tensor<double> no_statistics;
  for (const dims& sizes : {dims{5, 3}, dims{3, 2, 2, 3}}) {
    const auto x = grainy<double>(sizes, 1), w = grainy<double>({sizes[1]}, 2), b = grainy<double>({sizes[1]}, 3);
    const auto training = check_gradient(
        [&](const auto& v, const auto& scale, const auto& shift) {
          return batch_norm(v, no_statistics, no_statistics, scale, shift, {.training = true, .eps = 0.1});
        },
        x, w, b);
    CHECK_MESSAGE(training.agrees, training.text);
    const Tensor<double> mean = grainy<double>({sizes[1]}, 4), variance = ones<double>({sizes[1]});
    variance.data()[0] = 0.25;
    const auto evaluation =
        check_gradient([&](const auto& v, const auto& scale,
                           const auto& shift) { return batch_norm(v, mean, variance, scale, shift, {.eps = 0.1}); },
                       x, w, b);
    CHECK_MESSAGE(evaluation.agrees, evaluation.text);
  }
}

TEST_CASE("gradients add up, and only wanted ones are computed") {
  const auto x = grainy<double>({4, 2, 3}, 1);
  Tensor<double> w = grainy<double>({2}, 2), b = grainy<double>({2}, 3), turned = x.permute({2, 1, 0}).clone();
  turned.requires_grad();
  const Tensor<double> no_statistics, g = grainy<double>({4, 2, 3}, 4);
  auto run = [&](const auto& v) {
    backward(batch_norm(v, no_statistics, no_statistics, w, b, {.training = true, .eps = 0.1}), g);
  };
  run(turned.permute({2, 1, 0}));
  const auto once = values(turned.grad());
  run(turned.permute({2, 1, 0}));
  std::vector<double> twice = once;
  for (double& v : twice) v *= 2;
  CHECK(wrong(turned.grad(), twice, 1e-14) == 0);
  CHECK_FALSE(w.has_grad());
  b.requires_grad();
  run(x);
  run(x);
  const auto G = values(g);
  std::vector<double> sums(2);
  for (std::size_t i = 0; i < G.size(); ++i) sums[i / 3 % 2] += 2 * G[i];
  CHECK(wrong(b.grad(), sums, 1e-14) == 0);
  Tensor<double> changed = x.clone();
  const Tensor<double> y = batch_norm(changed, no_statistics, no_statistics, w, b, {.training = true});
  changed.fill_(1);
  CHECK_THROWS_AS(backward(y, g), graph_error);
  const no_grad quiet;
  CHECK_FALSE(batch_norm(turned, Tensor<double>(), Tensor<double>(), {.training = true}).needs_grad());
}

TEST_CASE("an empty batch changes nothing") {
  Tensor<double> mean = grainy<double>({3}, 1), variance = grainy<double>({3}, 2), w = grainy<double>({3}, 3);
  const auto before = values(mean);
  w.requires_grad();
  const Tensor<double> y = batch_norm(zeros<double>({0, 3, 2}), mean, variance, w, none, {.training = true});
  CHECK(y.sizes() == dims{0, 3, 2});
  backward(y, zeros<double>(y.sizes()));
  CHECK(wrong(w.grad(), {0, 0, 0}, 0) == 0);
  CHECK(wrong(mean, before, 0) == 0);
}

TEST_CASE("operands of batch_norm that do not fit are named") {
  const auto x = zeros<double>({2, 3, 4}), c = ones<double>({3});
  CHECK_THROWS_WITH_AS(batch_norm(x, c, c, ones<double>({4}), c),
                       "batch_norm: a tensor of shape [2, 3, 4] and a weight of shape [4]: the weight must be [3], one "
                       "number for each channel (axis 1)",
                       shape_error);
  CHECK_THROWS_AS(batch_norm(x, c, ones<double>({3, 1})), shape_error);
  CHECK_THROWS_AS(batch_norm(zeros<double>({3}), c, c), shape_error);
  CHECK_THROWS_AS(batch_norm(x, c, none), value_error);
  CHECK_THROWS_AS(batch_norm(x, none, none), value_error);
  CHECK_THROWS_AS(batch_norm(x, c, c, {.eps = -1}), value_error);
  CHECK_THROWS_AS(batch_norm(zeros<double>({1, 3, 1}), c, c, {.training = true}), shape_error);
  CHECK_NOTHROW(batch_norm(zeros<double>({1, 3, 1}), c, c));
}

TEST_CASE("batch_norm: gradients in evaluation reach operands of every layout") {
  const Tensor<double> mean{0.1, -0.2, 0.3}, variance{1.0, 2.0, 3.0};
  auto agrees = [&](const char* name, auto view, const dims& sizes) {
    const Tensor<double> x = arange<double>(count(sizes)).reshape(sizes) * 0.1 - 1.0;
    const Tensor<double> scales = linspace<double>(1, 2, 6).reshape({3, 2}), shifts = linspace<double>(0, 1, 3);
    const auto check = check_gradient(
        [&](auto v, auto w, auto b) { return batch_norm(view(v), mean, variance, Tensor<double>(w).select(1, 1), b); },
        x, scales, shifts);
    CHECK_MESSAGE(check.agrees, name, ": ", check.text);
  };
  agrees("as it is", [](auto v) { return Tensor<double>(v); }, {2, 3, 2});
  agrees("two axes", [](auto v) { return Tensor<double>(v); }, {4, 3});
  agrees("transposed", [](auto v) { return transpose(Tensor<double>(v), 0, 1); }, {3, 4});
  agrees("channels last", [](auto v) { return Tensor<double>(v).permute({0, 2, 1}); }, {2, 2, 3});
  agrees("with gaps", [](auto v) { return Tensor<double>(v).slice(2, 0, 4, 2); }, {2, 3, 4});
  agrees("expanded", [](auto v) { return Tensor<double>(v).expand({2, 3, 4}); }, {2, 3, 1});
  agrees("an expression", [](auto v) { return transpose(Tensor<double>(v), 0, 1) * 2.0; }, {3, 2, 2});
}

TEST_CASE("batch norm: views of a result of training lead back to the input") {
  const Tensor<float> none;
  for (const int kind : {0, 1, 2}) {
    Tensor<float> x{{1, 2}, {3, 5}};
    x.requires_grad();
    const Tensor<float> y = batch_norm(x, none, none, {.training = true});
    const Tensor<float> g{{1, 0}, {0, 0}};
    if (kind == 0)
      backward(y.reshape({4}), g.reshape({4}));
    else if (kind == 1)
      backward(y.transpose(0, 1), g);
    else
      backward(y.slice(0, 0, 1), g.slice(0, 0, 1));
    // In a batch of two each channel becomes -1 and 1, whatever x is.
    for (const float slope : x.grad().span()) CHECK(std::abs(slope) < 1e-3F);
  }
}
