// SPDX-License-Identifier: BSL-1.0
// Linear and Bilinear against PyTorch's values, how they begin, and what they refuse.
#include <kiln/nn/layers/linear.hpp>

#include "nn/layers/check.hpp"

using namespace kiln;

TEST_CASE("Linear: PyTorch's values and gradients") {
  test::check_layer("linear", nn::Linear<double>{4, 3}, {2, 4});
  test::check_layer("linear_stack", nn::Linear<double>{4, 3}, {2, 3, 4});
  test::check_layer("linear_no_bias", nn::Linear<double>{4, 3, {.bias = false}}, {2, 4});
  test::check_layer("bilinear", nn::Bilinear<double>{3, 4, 2}, {{5, 3}, {5, 4}},
                    [](const auto& m, const auto& x) { return Tensor<double>(m(x[0], x[1])); });
}

TEST_CASE("Linear: begins uniform up to 1 / sqrt(in_features)") {
  manual_seed(5);
  const nn::Linear<float> fc{64, 100};
  CHECK(fc.weight.sizes() == dims{100, 64});
  const Tensor<float> w = max(abs(fc.weight)), b = max(abs(fc.bias));
  CHECK(w.item() <= 0.125f);
  CHECK(w.item() > 0.124f);
  CHECK(b.item() <= 0.125f);
  CHECK(b.item() > 0.11f);
  CHECK(fc.weight.needs_grad());
  const nn::Linear<float> nothing;
  CHECK(nothing.weight.numel() == 0);
}

TEST_CASE("Linear: an input of another width is refused with the layer, what it got and what it expects") {
  const nn::Linear<float> fc{784, 10};
  CHECK_THROWS_WITH_AS(
      fc(zeros<float>({64, 100})),
      "Linear(in_features=784, out_features=10, bias=True): got an input of shape [64, 100], whose axis "
      "-1 has the size 100; expected 784",
      shape_error);
  CHECK_THROWS_WITH_AS(
      fc(zeros<float>({})),
      "Linear(in_features=784, out_features=10, bias=True): got an input of shape [], which has no axis "
      "-1; expected one of size 784 there",
      shape_error);
  CHECK_THROWS_AS(nn::parameters(nn::Linear<float>{-1, 10}), shape_error);
}
