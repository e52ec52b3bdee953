// SPDX-License-Identifier: BSL-1.0
// Poolings as layers against PyTorch's values, their settings in print, and what they refuse.
#include <kiln/nn/layers/pool.hpp>

#include "nn/layers/check.hpp"

#include <kiln/nn/print.hpp>

using namespace kiln;

TEST_CASE("poolings: PyTorch's values and gradients") {
  test::check_layer("max_pool1d", nn::MaxPool1d{3, 2}, {2, 2, 8});
  test::check_layer("max_pool2d", nn::MaxPool2d{2}, {1, 2, 4, 6});
  test::check_layer("avg_pool1d", nn::AvgPool1d{3, 2, 1}, {2, 2, 8});
  test::check_layer("avg_pool2d", nn::AvgPool2d{3, {.stride = 2, .padding = 1, .count_include_pad = false}},
                    {1, 2, 5, 6});
  test::check_layer("adaptive_avg_pool1d", nn::AdaptiveAvgPool1d{3}, {2, 2, 7});
  test::check_layer("adaptive_avg_pool2d", nn::AdaptiveAvgPool2d{{2, 3}}, {1, 2, 5, 6});
  test::check_layer("adaptive_avg_pool2d_even", nn::AdaptiveAvgPool2d{2}, {1, 2, 4, 6});
}

TEST_CASE("poolings: in print, without a batch, refusals") {
  CHECK(nn::to_string(nn::MaxPool2d{2}) ==
        "MaxPool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0), dilation=(1, 1), ceil_mode=False)");
  CHECK(nn::MaxPool2d{2}(ones<float>({3, 4, 4})).sizes() == dims{3, 2, 2});
  CHECK(nn::AvgPool1d{2}(ones<float>({3, 4})).sizes() == dims{3, 2});
  CHECK_THROWS_AS(nn::MaxPool2d{2}(ones<float>({4, 4})), shape_error);
  CHECK_THROWS_AS(nn::AdaptiveAvgPool2d{0}(ones<float>({1, 4, 4})), shape_error);
}
