// SPDX-License-Identifier: BSL-1.0
// Losses with margins against PyTorch's values, and what they refuse.
#include <kiln/nn/loss/margin.hpp>

#include "nn/loss/check.hpp"

using namespace kiln;

TEST_CASE("margin losses: PyTorch's values and gradients") {
  const test::loss_inputs in;
  const Tensor<double> rows{1, -1, -1, 1};
  test::check_loss("cosine", in, nn::cosine_embedding_loss(in.x, in.t, rows, {.margin = 0.1}));
  test::check_loss("hinge", in, nn::hinge_embedding_loss(in.x, in.signs));
  test::check_loss("ranking", in, nn::margin_ranking_loss(in.x, in.t, in.signs, {.margin = 0.2}));
  test::check_loss("triplet", in, nn::triplet_margin_loss(in.x, in.t, in.z, {.swap = true}));
  test::check_loss("triplet_3", in, nn::triplet_margin_loss(in.x, in.t, in.z, {.margin = 2, .p = 3}));
  test::check_loss("multi_margin", in, nn::multi_margin_loss(in.x, in.labels));
  test::check_loss("multi_margin_2", in, nn::multi_margin_loss(in.x, in.labels, {.p = 2, .margin = 0.5}));
}

TEST_CASE("margin losses: what they refuse") {
  const Tensor<double> x = zeros<double>({2, 3});
  CHECK_THROWS_AS(nn::multi_margin_loss(x, Tensor<int>{0, 3}), index_error);
  CHECK_THROWS_AS(nn::multi_margin_loss(x, Tensor<int>{0, 1}, {.p = 3}), value_error);
  CHECK_THROWS_AS(nn::triplet_margin_loss(x, x, x, {.p = 0}), value_error);
  CHECK_THROWS_AS(nn::cosine_embedding_loss(x, x, zeros<double>({3})), shape_error);
}
