// SPDX-License-Identifier: BSL-1.0
// dropout: what is dropped, by which probability, and that the gradient passes through what is kept.
#include <kiln/nn/functional/dropout.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>

#include "support/draws.hpp"

using namespace kiln;

TEST_CASE("dropout: keeps what is drawn to be kept, scaled, and drops the rest") {
  const Tensor<float> x = arange<float>(1, 10001);
  manual_seed(11);
  const Tensor<float> y = dropout(x, 0.3);
  std::int64_t dropped = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const bool kept = test::uniform(11, 0, i) >= 0.3;
    dropped += !kept;
    REQUIRE(y.data()[i] == doctest::Approx(kept ? static_cast<double>(i + 1) / 0.7 : 0.0).epsilon(1e-6));
  }
  CHECK(std::abs(static_cast<double>(dropped) - 3000) < 5 * std::sqrt(10000 * 0.3 * 0.7));
}

TEST_CASE("dropout: out of training it changes nothing and draws nothing") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor<float> x{1.0f, -2.0f, nan, 1e30f};
  manual_seed(3);
  const Tensor<float> y = dropout(x, 0.9, false), z = dropout(x, 0.0), next = rand<float>({4});
  CHECK(y(1) == -2);
  CHECK(std::isnan(y(2)));
  CHECK(y(3) == 1e30f);
  CHECK(z(0) == 1);
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(static_cast<double>(next.data()[i]) == test::uniform(3, 0, i));
}

TEST_CASE("dropout: the gradient passes through what was kept") {
  const Tensor<double> x = ones<double>({500}).requires_grad();
  manual_seed(5);
  const Tensor<double> y = dropout(x, 0.25);
  backward(sum(y * 2));
  for (std::uint64_t i = 0; i < 500; ++i)
    REQUIRE(x.grad().data()[i] == doctest::Approx(test::uniform(5, 0, i) >= 0.25 ? 2 / 0.75 : 0.0));
  const Tensor<float> all = ones<float>({8}).requires_grad();
  const Tensor<float> nothing = dropout(all, 1.0);
  backward(sum(nothing));
  for (int i = 0; i < 8; ++i) {
    CHECK(nothing(i) == 0);
    CHECK(all.grad()(i) == 0);  // and not 0 * infinity
  }
}

TEST_CASE("dropout: half types, and probabilities that are none") {
  const Tensor<half> x = ones<half>({64});
  const Tensor<half> y = dropout(x, 0.5);
  for (const half v : y.span()) CHECK((static_cast<float>(v) == 0 || static_cast<float>(v) == 2));
  CHECK_THROWS_WITH_AS(dropout(x, 1.5), "dropout: a probability of 1.5: use one from 0 to 1", value_error);
  CHECK_THROWS_AS(dropout(x, -0.1, false), value_error);
  CHECK_THROWS_AS(dropout(x, std::nan("")), value_error);
}
