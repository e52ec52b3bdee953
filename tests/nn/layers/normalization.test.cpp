// SPDX-License-Identifier: BSL-1.0
// Norms of samples against PyTorch's values, their settings in print, and what they refuse.
#include <kiln/nn/layers/normalization.hpp>

#include "nn/layers/check.hpp"

#include <kiln/nn/print.hpp>

using namespace kiln;

TEST_CASE("norms: PyTorch's values and gradients") {
  test::check_layer("layer_norm", nn::LayerNorm<double>{{5}}, {3, 5});
  test::check_layer("layer_norm_2", nn::LayerNorm<double>{{2, 3}, {.eps = 1e-3}}, {4, 2, 3});
  test::check_layer("layer_norm_plain", nn::LayerNorm<double>{{5}, {.elementwise_affine = false}}, {3, 5});
  test::check_layer("group_norm", nn::GroupNorm<double>{2, 4}, {2, 4, 3, 2});
  test::check_layer("instance_norm2d", nn::InstanceNorm2d<double>{2, {.affine = true}}, {2, 2, 3, 2});
  test::check_layer("rms_norm", nn::RMSNorm<double>{{5}, {.eps = 1e-5}}, {3, 5});
}

TEST_CASE("norms: a batch of nothing, channels of nothing") {
  Tensor<float> x = zeros<float>({0, 4, 3, 2});
  x.requires_grad();
  const Tensor<float> groups = nn::GroupNorm<float>{2, 4}(x), instances = nn::InstanceNorm2d<float>{4}(x);
  CHECK(groups.sizes() == dims{0, 4, 3, 2});
  CHECK(instances.sizes() == dims{0, 4, 3, 2});
  backward(sum(groups) + sum(instances));
  CHECK(x.grad().sizes() == x.sizes());
  const Tensor<float> signals = nn::InstanceNorm1d<float>{3}(zeros<float>({2, 3, 0}));
  CHECK(signals.sizes() == dims{2, 3, 0});
  CHECK(Tensor<float>(nn::InstanceNorm1d<float>{0}(zeros<float>({2, 0, 5}))).sizes() == dims{2, 0, 5});
  CHECK(Tensor<float>(nn::GroupNorm<float>{2, 4}(zeros<float>({0, 4}))).sizes() == dims{0, 4});
  CHECK(Tensor<float>(nn::LayerNorm<float>{3}(zeros<float>({0, 3}))).sizes() == dims{0, 3});
}

TEST_CASE("norms: in print, and refusals") {
  CHECK(nn::to_string(nn::LayerNorm<float>{{5}}) == "LayerNorm((5,), eps=1e-05, elementwise_affine=True)");
  CHECK(nn::to_string(nn::RMSNorm<float>{{5}}) == "RMSNorm((5,), eps=None, elementwise_affine=True)");
  CHECK(nn::to_string(nn::GroupNorm<float>{2, 4}) == "GroupNorm(2, 4, eps=1e-05, affine=True)");
  CHECK(nn::to_string(nn::InstanceNorm1d<float>{3}) == "InstanceNorm1d(3, eps=1e-05, affine=False)");
  CHECK_THROWS_AS((nn::InstanceNorm1d<float>{3}(zeros<float>({2, 3, 4, 4}))), shape_error);
  CHECK_THROWS_WITH_AS(
      nn::LayerNorm<float>{{5}}(zeros<float>({3, 4})),
      "LayerNorm((5,), eps=1e-05, elementwise_affine=True): got an input of shape [3, 4]; expected one "
      "whose last sizes are [5]",
      shape_error);
  CHECK_THROWS_AS((nn::GroupNorm<float>{3, 4}(zeros<float>({2, 4}))), value_error);
  CHECK_THROWS_AS((nn::GroupNorm<float>{2, 4}(zeros<float>({2, 6}))), shape_error);
}
