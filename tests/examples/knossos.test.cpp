// SPDX-License-Identifier: BSL-1.0
// The network of the knossos example learns drawn digits; its function is the page's.
#include "../../examples/knossos/network.hpp"
#include "../../examples/support/digits.hpp"

#include <kiln/transform/gradient.hpp>
#include <kiln/transform/vmap.hpp>

#include <doctest/doctest.h>

#include <limits>

using namespace kiln;
using knossos::relu3;

TEST_CASE("knossos: relu3 of numbers and tensors, value and slope, at the joints and at the ends") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(relu3(0.5f) == doctest::Approx(1.0 / 24));
  CHECK(grad(relu3)(0.5f) == 0.25f);
  CHECK((relu3(-inf) == 0 && relu3(inf) == inf && grad(relu3)(inf) == 1 && grad(relu3)(-inf) == 0));
  CHECK(std::isnan(relu3(nan)));
  const Tensor<float> x{-inf, -1, 0, 0.5, 1, 2, 8e12f, inf}, y = vmap(relu3)(x), slope = vmap(grad(relu3))(x);
  const float values[] = {0, 0, 0, 1.0f / 24, 1.0f / 3, 4.0f / 3, 8e12f, inf}, slopes[] = {0, 0, 0, 0.25f, 1, 1, 1, 1};
  for (std::int64_t i = 0; i < 8; ++i) {
    CHECK((y(i) == values[i] || y(i) == doctest::Approx(values[i])));
    CHECK(slope(i) == doctest::Approx(slopes[i]));
  }
}

TEST_CASE("knossos: the network learns drawn digits") {
  const mnist::digit_data data = mnist::draw_digits(1, 2000, 500);
  manual_seed(1);
  knossos::network net;
  const pynorch::digit_tensors test(data.test);
  CHECK(knossos::accuracy(net, test) < 0.3);
  CHECK(knossos::learn(net, pynorch::digit_tensors(data.train), test, 6).back().accuracy >= 0.85);
}
