// SPDX-License-Identifier: BSL-1.0
// Upsample in all modes against PyTorch's values, in print, and what it refuses.
#include <kiln/nn/layers/upsample.hpp>

#include "nn/layers/check.hpp"

#include <kiln/nn/print.hpp>

using namespace kiln;
using nn::upsample_mode;

TEST_CASE("Upsample: PyTorch's values and gradients") {
  test::check_layer("upsample", nn::Upsample{2}, {1, 2, 2, 3});
  test::check_layer("upsample_nearest", nn::Upsample{1, {.size = {5, 4}}}, {1, 2, 3, 3});
  test::check_layer("upsample_linear", nn::Upsample{3, {upsample_mode::linear}}, {2, 2, 4});
  test::check_layer("upsample_linear_corners", nn::Upsample{1, {upsample_mode::linear, true, 7}}, {2, 2, 4});
  test::check_layer("upsample_bilinear", nn::Upsample{2, {upsample_mode::bilinear}}, {1, 2, 3, 2});
  test::check_layer("upsample_bilinear_corners", nn::Upsample{1, {upsample_mode::bilinear, true, {5, 4}}},
                    {1, 2, 3, 3});
  test::check_layer("upsample_bicubic", nn::Upsample{{2, 3}, {upsample_mode::bicubic}}, {1, 2, 3, 4});
  test::check_layer("upsample_bicubic_corners", nn::Upsample{1, {upsample_mode::bicubic, true, {7, 5}}}, {1, 2, 4, 5});
}

TEST_CASE("Upsample: in print, without a batch, refusals") {
  CHECK(nn::to_string(nn::Upsample{2}) == "Upsample(scale_factor=(2, 2), mode='nearest')");
  CHECK(nn::to_string(nn::Upsample{1, {upsample_mode::bilinear, true, {5, 4}}}) ==
        "Upsample(size=(5, 4), mode='bilinear', align_corners=True)");
  CHECK(nn::Upsample{2, {upsample_mode::bicubic}}(ones<float>({3, 4, 5})).sizes() == dims{3, 8, 10});
  CHECK(nn::Upsample{2, {upsample_mode::linear}}(ones<float>({3, 4})).sizes() == dims{3, 8});
  CHECK_THROWS_AS(nn::Upsample{0}(ones<float>({1, 4, 4})), value_error);
  CHECK_THROWS_AS((nn::Upsample{1, {.size = {-1, 2}}}(ones<float>({1, 4, 4}))), value_error);
  CHECK_THROWS_WITH_AS((nn::Upsample{2, {.align_corners = true}}(ones<float>({1, 4, 4}))),
                       "Upsample: align_corners goes with linear, bilinear and bicubic, not with nearest", value_error);
  CHECK_THROWS_AS(nn::Upsample{2}(ones<float>({4, 4})), shape_error);
  CHECK_THROWS_AS(nn::Upsample{2}(ones<float>({1, 0, 4})), shape_error);
}
