// SPDX-License-Identifier: BSL-1.0
// Losses of numbers against PyTorch's values, and what they refuse.
#include <kiln/nn/loss/regression.hpp>

#include "nn/loss/check.hpp"

using namespace kiln;
using nn::reduction;

TEST_CASE("regression losses: PyTorch's values and gradients") {
  const test::loss_inputs in;
  test::check_loss("mse_mean", in, nn::mse_loss(in.x, in.t));
  test::check_loss("mse_sum", in, nn::mse_loss(in.x, in.t, {.reduction = reduction::sum}));
  test::check_loss("mse_none", in, nn::mse_loss(in.x, in.t, {.reduction = reduction::none}));
  test::check_loss("l1_mean", in, nn::l1_loss(in.x, in.t));
  test::check_loss("l1_sum", in, nn::l1_loss(in.x, in.t, {.reduction = reduction::sum}));
  test::check_loss("l1_none", in, nn::l1_loss(in.x, in.t, {.reduction = reduction::none}));
  test::check_loss("smooth_l1", in, nn::smooth_l1_loss(in.x, in.t, {.beta = 0.7}));
  test::check_loss("smooth_l1_0", in, nn::smooth_l1_loss(in.x, in.t, {.beta = 0}));
  test::check_loss("huber", in, nn::huber_loss(in.x, in.t, {.delta = 0.6}));
}

TEST_CASE("likelihoods: PyTorch's values and gradients") {
  const test::loss_inputs in;
  const Tensor<double> counts = in.t + 2;
  test::check_loss("poisson", in, nn::poisson_nll_loss(in.x, counts, {.full = true}));
  test::check_loss("poisson_rate", in, nn::poisson_nll_loss(Tensor<double>(in.x + 2), counts, {.log_input = false}));
  const Tensor<double> variance = in.q + 0.1;
  test::check_loss("gaussian", in, nn::gaussian_nll_loss(in.x, in.t, variance, {.full = true}));
  test::check_loss("gaussian_variance", in, nn::gaussian_nll_loss(in.t, in.z, Tensor<double>(abs(in.x)), {.eps = 0.3}));
}

TEST_CASE("regression losses: shapes that would broadcast, and options out of range") {
  const Tensor<float> x = zeros<float>({4, 1}), y = zeros<float>({4});
  CHECK_THROWS_WITH_AS(
      nn::mse_loss(x, y),
      "mse_loss: an input of shape [4, 1] and a target of shape [4]: they must be the same (reshape or "
      "expand one of them)",
      shape_error);
  CHECK_THROWS_AS(nn::smooth_l1_loss(x, x, {.beta = -1}), value_error);
  CHECK_THROWS_AS(nn::huber_loss(x, x, {.delta = 0}), value_error);
}
