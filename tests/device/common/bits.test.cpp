// SPDX-License-Identifier: BSL-1.0
// Numbers as 64 bits, there and back.
#include <doctest/doctest.h>

#include <cmath>

#include <kiln/device/common/bits.hpp>

using namespace kiln;

TEST_CASE("bits: numbers keep their bits") {
  CHECK(common::from_bits<std::int64_t>(common::to_bits((std::int64_t{1} << 62) + 1)) == (std::int64_t{1} << 62) + 1);
  CHECK(common::from_bits<std::int8_t>(common::to_bits(std::int8_t{-5})) == -5);
  CHECK(common::from_bits<bool>(common::to_bits(true)));
  CHECK(common::from_bits<float>(common::to_bits(0.1f)) == 0.1f);
  CHECK(std::signbit(common::from_bits<double>(common::to_bits(-0.0))));
}
