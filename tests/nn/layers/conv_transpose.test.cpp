// SPDX-License-Identifier: BSL-1.0
// ConvTranspose2d against PyTorch's values, gradients that are added to, and what it refuses.
#include <kiln/nn/layers/conv_transpose.hpp>

#include "nn/layers/check.hpp"

using namespace kiln;

TEST_CASE("ConvTranspose2d: PyTorch's values and gradients") {
  test::check_layer("conv_transpose2d",
                    nn::ConvTranspose2d<double>{4, 6, 3, {.stride = 2, .padding = 1, .output_padding = 1, .groups = 2}},
                    {2, 4, 3, 2});
}

TEST_CASE("ConvTranspose2d: an input that is used twice gets both gradients") {
  manual_seed(1);
  const nn::ConvTranspose2d<double> layer{2, 1, 2, {.bias = false}};
  Tensor<double> x = test::wave({1, 2, 3, 3}, 1, 0).requires_grad();
  backward(Tensor<double>(sum(layer(x))));
  const Tensor<double> once = x.grad().clone(), weights = layer.weight.grad().clone();
  x.zero_grad();
  nn::zero_grad(layer);
  const Tensor<double> a = layer(x), b = layer(x);
  backward(Tensor<double>(sum(a + b * 2)));
  for (int i = 0; i < 18; ++i) CHECK(x.grad().data()[i] == doctest::Approx(3 * once.data()[i]).epsilon(1e-13));
  for (int i = 0; i < 8; ++i)
    CHECK(layer.weight.grad().data()[i] == doctest::Approx(3 * weights.data()[i]).epsilon(1e-13));
}

TEST_CASE("ConvTranspose2d: what does not fit is refused") {
  const nn::ConvTranspose2d<double> layer{2, 1, 2, {.padding = 3}};
  CHECK_THROWS_AS(layer(zeros<double>({1, 2, 2, 2})), shape_error);
  CHECK_THROWS_AS(layer(zeros<double>({1, 3, 9, 9})), shape_error);
  CHECK_THROWS_AS(nn::parameters(nn::ConvTranspose2d<double>{2, 1, 2, {.groups = 0}}), value_error);
  const nn::ConvTranspose2d<double> more{2, 1, 2, {.output_padding = 1}};
  CHECK_THROWS_AS(more(zeros<double>({1, 2, 2, 2})), value_error);
  const nn::ConvTranspose2d<double> dilated{2, 1, 2, {.output_padding = 1, .dilation = 2}};
  CHECK_THROWS_AS(dilated(zeros<double>({1, 2, 2, 2})), value_error);
}
