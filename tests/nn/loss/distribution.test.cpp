// SPDX-License-Identifier: BSL-1.0
// Losses of probabilities against PyTorch's values.
#include <kiln/nn/loss/distribution.hpp>

#include "nn/loss/check.hpp"

using namespace kiln;

TEST_CASE("losses of probabilities: PyTorch's values and gradients") {
  const test::loss_inputs in;
  test::check_loss("bce", in, nn::binary_cross_entropy(Tensor<double>(sigmoid(in.x)), in.q));
  test::check_loss("bce_with_logits", in, nn::binary_cross_entropy_with_logits(Tensor<double>(in.x * 30), in.q));
  test::check_loss("bce_pos_weight", in, nn::binary_cross_entropy_with_logits(in.x, in.q, in.weight));
  const Tensor<double> logs = log_softmax(in.x, 1);
  test::check_loss("kl_div", in, nn::kl_div(logs, in.p));
  const Tensor<double> logs_again = log_softmax(in.x, 1), log_p = log(in.p);
  test::check_loss("kl_div_log_batchmean", in, nn::kl_div(logs_again, log_p, {.log_target = true, .batchmean = true}));
  test::check_loss("multilabel", in, nn::multilabel_soft_margin_loss(in.x, in.q));
}

TEST_CASE("losses of probabilities: certain ones are finite") {
  const Tensor<double> sure{1.0, 0.0};
  CHECK(nn::binary_cross_entropy(sure, sure).item() == 0);
  const Tensor<double> wrong{0.0, 1.0};
  CHECK(nn::binary_cross_entropy(sure, wrong).item() == 100);
  CHECK(nn::kl_div(Tensor<double>{0.0, 0.0}, sure).item() == 0);
  CHECK_THROWS_AS(nn::kl_div(sure, zeros<double>({3})), shape_error);
}
