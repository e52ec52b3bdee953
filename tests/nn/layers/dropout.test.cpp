// SPDX-License-Identifier: BSL-1.0
// Dropout layers: in training and out of it, of elements and of channels.
#include <kiln/nn/layers/dropout.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <kiln/nn/module.hpp>

using namespace kiln;

TEST_CASE("Dropout: drops in training only") {
  nn::Dropout drop{0.25};
  manual_seed(1);
  const Tensor<float> x = ones<float>({4000}), y = drop(x);
  int zeros = 0;
  for (const float v : y.span()) {
    CHECK((v == 0 || v == doctest::Approx(4.0 / 3)));
    zeros += v == 0;
  }
  CHECK(std::abs(zeros - 1000) < 140);
  nn::eval(drop);
  const Tensor<float> z = drop(x);
  for (const float v : z.span()) CHECK(v == 1);
  drop.p = 2;
  nn::train(drop);
  CHECK_THROWS_AS(drop(x), value_error);
}

TEST_CASE("Dropout2d: whole channels") {
  nn::Dropout2d drop;
  manual_seed(2);
  const Tensor<float> x = ones<float>({50, 20, 2, 3}), y = drop(x);
  int dropped = 0;
  for (std::int64_t c = 0; c < 1000; ++c) {
    const float first = y.data()[c * 6];
    CHECK((first == 0 || first == 2));
    for (int i = 1; i < 6; ++i) CHECK(y.data()[c * 6 + i] == first);
    dropped += first == 0;
  }
  CHECK(std::abs(dropped - 500) < 80);
  CHECK_THROWS_AS(drop(ones<float>({3})), shape_error);
}

TEST_CASE("Dropout: a p that is no probability is refused where the layer is made") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH_AS(nn::Dropout{1.5}, "Dropout: a probability of 1.5: use one from 0 to 1", value_error);
  CHECK_THROWS_WITH_AS(nn::Dropout2d{-0.5}, "Dropout2d: a probability of -0.5: use one from 0 to 1", value_error);
  CHECK_THROWS_AS(nn::Dropout{nan}, value_error);
  CHECK_NOTHROW(nn::Dropout{.p = 1});
  CHECK_NOTHROW(nn::Dropout2d{0});
}
