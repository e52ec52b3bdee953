// SPDX-License-Identifier: BSL-1.0
// BatchNorm1d and BatchNorm2d against PyTorch's values, their running statistics, and what they refuse.
#include <kiln/nn/layers/batch_norm.hpp>

#include "nn/layers/check.hpp"

#include <kiln/nn/print.hpp>

using namespace kiln;

TEST_CASE("batch norm: PyTorch's values and gradients") {
  test::check_layer("batch_norm1d", nn::BatchNorm1d<double>{3}, {4, 3});
  test::check_layer("batch_norm2d", nn::BatchNorm2d<double>{2, {.eps = 1e-3}}, {2, 2, 3, 2});
  nn::BatchNorm2d<double> still{2};
  nn::eval(still);
  test::check_layer("batch_norm2d_eval", still, {2, 2, 3, 2});
}

TEST_CASE("batch norm: running statistics") {
  const Tensor<double> a{{1}, {3}}, b{{5}, {9}};  // means 2 and 7, unbiased variances 2 and 8
  nn::BatchNorm1d<double> usual{1};
  usual(a);
  CHECK((*usual.running_mean)(0) == doctest::Approx(0.2));
  CHECK((*usual.running_var)(0) == doctest::Approx(1.1));
  CHECK(usual.num_batches_tracked->item() == 1);
  nn::BatchNorm1d<double> alike{1, {.momentum = std::nullopt}};
  alike(a), alike(b);
  CHECK((*alike.running_mean)(0) == doctest::Approx(4.5));
  CHECK((*alike.running_var)(0) == doctest::Approx(5));
  nn::eval(alike);
  CHECK(alike(Tensor<double>{{4.5}})(0, 0) == doctest::Approx(0));
  CHECK(alike.num_batches_tracked->item() == 2);
  nn::BatchNorm1d<double> none{1, {.affine = false, .track_running_stats = false}};
  nn::eval(none);
  CHECK(none(a)(1, 0) == doctest::Approx(1).epsilon(1e-4));
  CHECK(nn::parameters(none).empty());
  CHECK(nn::buffers(usual).size() == 2);
}

TEST_CASE("batch norm: in print, and refusals") {
  CHECK(nn::to_string(nn::BatchNorm2d<float>{8}) ==
        "BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)");
  CHECK_THROWS_AS(nn::BatchNorm2d<float>{8}(zeros<float>({2, 4, 3, 3})), shape_error);
  CHECK_THROWS_AS(nn::BatchNorm2d<float>{8}(zeros<float>({2, 8})), shape_error);
  CHECK_THROWS_AS(nn::BatchNorm1d<float>{8}(zeros<float>({1, 8})), shape_error);
}
