// SPDX-License-Identifier: BSL-1.0
// The digits of the pynorch_digits example: its network learns drawn ones.
#include "../../examples/pynorch_digits/digits.hpp"
#include "../../examples/support/digits.hpp"

#include <doctest/doctest.h>

TEST_CASE("learn_digits: the article's network learns drawn digits") {
  const mnist::digit_data data = mnist::draw_digits(1);
  kiln::manual_seed(1);
  const pynorch::digit_network net;
  const pynorch::digit_tensors test(data.test);
  const double before = pynorch::accuracy(net, test);
  CHECK(before < 0.3);
  CHECK(pynorch::learn_digits(net, pynorch::digit_tensors(data.train), test) >= 0.85);
}
