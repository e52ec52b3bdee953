// SPDX-License-Identifier: BSL-1.0
// cross_entropy and nll_loss against PyTorch's values, and what they refuse.
#include <kiln/nn/loss/cross_entropy.hpp>

#include "nn/loss/check.hpp"

using namespace kiln;
using nn::reduction;

TEST_CASE("cross_entropy: PyTorch's values and gradients for class numbers") {
  const test::loss_inputs in;
  test::check_loss("cross_entropy_mean", in, nn::cross_entropy(in.x, in.labels));
  test::check_loss("cross_entropy_sum", in, nn::cross_entropy(in.x, in.labels, {.reduction = reduction::sum}));
  const auto each = nn::cross_entropy(in.x, in.labels, {.reduction = reduction::none});
  CHECK(each.sizes() == dims{4});
  test::check_loss("cross_entropy_none", in, each);
  test::check_loss("cross_entropy_all", in,
                   nn::cross_entropy(in.x, in.one_left_out, in.weight, {.label_smoothing = 0.2}));
  const Tensor<std::int64_t> pixels{{0, 1, 1, 0, 1}, {1, 1, 0, 0, 0}};
  test::check_loss("cross_entropy_images", in, nn::cross_entropy(in.x.reshape(2, 2, 5), pixels));
  test::check_loss("nll", in, nn::nll_loss(log_softmax(in.x, 1), in.labels, in.weight));
}

TEST_CASE("cross_entropy: PyTorch's values and gradients for probabilities") {
  const test::loss_inputs in;
  test::check_loss("cross_entropy_probabilities", in,
                   nn::cross_entropy(in.x, in.p, in.weight, {.label_smoothing = 0.1}));
}

TEST_CASE("cross_entropy: classes that have no part may have no probability") {
  const double inf = std::numeric_limits<double>::infinity();
  Tensor<double> scores{{0.0, -inf, 0.0}};
  CHECK(nn::cross_entropy(scores, Tensor<int>{2}).item() == doctest::Approx(std::log(2.0)));
}

TEST_CASE("cross_entropy: options as they are by themselves make no difference, nor do weights of 1") {
  const test::loss_inputs in;
  const nn::class_loss_options usual;
  const Tensor<double> ones_of(in.weight / in.weight);
  const double without = nn::cross_entropy(in.x, in.labels).item();
  const double nll = nn::nll_loss(log_softmax(in.x, 1), in.labels).item();
  CHECK(nn::cross_entropy(in.x, in.labels, usual).item() == without);
  CHECK(nn::cross_entropy(in.x, in.labels, ones_of, usual).item() == doctest::Approx(without).epsilon(1e-14));
  CHECK(nll == without);
  CHECK(nn::nll_loss(log_softmax(in.x, 1), in.labels, ones_of).item() == doctest::Approx(nll).epsilon(1e-14));
}

TEST_CASE("cross_entropy: without classes, all targets are left out") {
  Tensor<float> scores = zeros<float>({2, 0});
  scores.requires_grad();
  const Tensor<std::int64_t> targets{-100, -100};
  Tensor<float> loss = nn::cross_entropy(scores, targets, {.reduction = reduction::sum});
  CHECK(loss.item() == 0);
  backward(loss);
  CHECK(scores.grad().sizes() == dims{2, 0});
  CHECK(std::isnan(nn::cross_entropy(scores, targets).item()));
  CHECK_THROWS_AS(nn::cross_entropy(scores, Tensor<std::int64_t>{0, 0}), index_error);
}

TEST_CASE("cross_entropy: one sample, and class numbers of other types") {
  const Tensor<double> scores{1, 2, 3};
  const double expected = std::log(std::exp(1) + std::exp(2) + std::exp(3)) - 3;
  CHECK(nn::cross_entropy(scores, Tensor<std::int64_t>(2)).item() == doctest::Approx(expected));
  CHECK(nn::cross_entropy(scores.reshape(1, 3), Tensor<std::uint8_t>{2}).item() == doctest::Approx(expected));
}

TEST_CASE("cross_entropy: what does not fit is named") {
  const Tensor<float> scores = zeros<float>({2, 3});
  CHECK_THROWS_WITH_AS(
      nn::cross_entropy(scores, Tensor<std::int64_t>{0, 3}),
      "cross_entropy: class 3 is outside [0, 3): check the targets against the scores' axis 1, or name "
      "it as ignore_index",
      index_error);
  CHECK_THROWS_AS(nn::cross_entropy(scores, Tensor<std::int64_t>{0, -1}), index_error);
  CHECK_THROWS_WITH_AS(
      nn::cross_entropy(scores, Tensor<std::int64_t>{0, 1, 2}),
      "cross_entropy: scores of shape [2, 3] and class numbers of shape [3]: the numbers must have the "
      "scores' shape without the axis of classes, [2]",
      shape_error);
  CHECK_THROWS_AS(nn::cross_entropy(scores, Tensor<std::int64_t>{0, 1}, Tensor<float>{1.0f, 2.0f}), shape_error);
  CHECK_THROWS_AS(nn::cross_entropy(scores, Tensor<std::int64_t>{0, 1}, {.label_smoothing = 2}), value_error);
}
