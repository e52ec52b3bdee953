// SPDX-License-Identifier: BSL-1.0
// Conv1d and Conv2d against PyTorch's values, their settings in print, and what they refuse.
#include <kiln/nn/layers/conv.hpp>

#include "nn/layers/check.hpp"

#include <limits>

#include <kiln/nn/convert.hpp>
#include <kiln/nn/print.hpp>

using namespace kiln;

TEST_CASE("convolutions: PyTorch's values and gradients") {
  test::check_layer("conv1d", nn::Conv1d<double>{2, 4, 3, {.stride = 2, .padding = 1, .groups = 2}}, {2, 2, 7});
  test::check_layer("conv2d", nn::Conv2d<double>{2, 3, {3, 2}, {.stride = {1, 2}, .padding = 1, .dilation = {2, 1}}},
                    {2, 2, 6, 5});
  test::check_layer("conv2d_no_bias", nn::Conv2d<double>{2, 4, 3, {.groups = 2, .bias = false}}, {1, 2, 4, 4});
}

TEST_CASE("convolutions: one image without a batch, and how they begin") {
  const nn::Conv2d<float> conv{2, 3, 3};
  CHECK(conv(ones<float>({2, 5, 5})).sizes() == dims{3, 3, 3});
  CHECK((nn::Conv1d<float>{2, 3, 3}(ones<float>({2, 5})).sizes() == dims{3, 3}));
  const Tensor<float> largest = max(abs(nn::Conv2d<float>{4, 50, 4}.weight));
  CHECK(largest.item() <= 0.125f);  // 1 / sqrt(4 * 16)
  CHECK(largest.item() > 0.12f);
}

TEST_CASE("convolutions: with channels last") {
  const nn::conv2d_layer_options how{.padding = 1, .groups = 2, .layout = image_layout::channels_last};
  nn::Conv2d<float> conv{4, 6, {3, 2}, how};
  CHECK(conv.weight.sizes() == dims{6, 3, 2, 2});
  CHECK(nn::to_string(conv) ==
        "Conv2d(4, 6, kernel_size=(3, 2), stride=(1, 1), padding=(1, 1), groups=2, layout=channels_last)");
  conv.weight.fill_(1), conv.bias.fill_(0.5f);
  const Tensor<float> y = conv(arange<float>(4).expand({1, 3, 1, 4}));
  CHECK(y.sizes() == dims{1, 3, 2, 6});
  CHECK(y(0, 1, 0, 2) == 0.5f + 3 * (0 + 1));  // the first group, three rows in the image
  CHECK(y(0, 0, 1, 3) == 0.5f + 2 * (2 + 3));
  CHECK(conv(zeros<float>({3, 1, 4})).sizes() == dims{3, 2, 6});
  CHECK_THROWS_WITH_AS(conv(zeros<float>({1, 4, 3, 3})), doctest::Contains("axis -1 has the size 3; expected 4"),
                       shape_error);
}

TEST_CASE("convolutions: in print") {
  CHECK(nn::to_string(nn::Conv2d<float>{3, 8, 3}) == "Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1))");
  CHECK(nn::to_string(nn::Conv2d<float>{4, 8, {3, 5}, {.padding = 1, .groups = 2, .bias = false}}) ==
        "Conv2d(4, 8, kernel_size=(3, 5), stride=(1, 1), padding=(1, 1), groups=2, bias=False)");
  const nn::Conv1d<float> strided{3, 8, 3, {.stride = 2}};
  CHECK(nn::to_string(strided) == "Conv1d(3, 8, kernel_size=(3,), stride=(2,))");
  CHECK(nn::to_string(nn::to<double>(strided)) == nn::to_string(strided));
}

TEST_CASE("convolutions: what does not fit is refused") {
  const nn::Conv2d<float> conv{3, 8, 3};
  CHECK_THROWS_WITH_AS(
      conv(zeros<float>({2, 4, 8, 8})),
      "Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1)): got an input of shape [2, 4, 8, 8], whose axis "
      "-3 has the size 4; expected 3",
      shape_error);
  CHECK_THROWS_AS(conv(zeros<float>({8, 8})), shape_error);
  CHECK_THROWS_AS(nn::parameters(nn::Conv2d<float>{3, 8, 3, {.groups = 2}}), value_error);
  CHECK_THROWS_AS(nn::parameters(nn::Conv2d<float>{3, 8, 3, {.groups = 0}}), value_error);
  CHECK_THROWS_AS(nn::parameters(nn::Conv1d<float>{3, 8, 3, {.groups = 0}}), value_error);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(nn::parameters(nn::Conv2d<float>{most, 8, 3}), shape_error);
}
