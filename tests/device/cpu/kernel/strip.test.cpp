// SPDX-License-Identifier: BSL-1.0
// Numbers as 64 bits, there and back.
#include <doctest/doctest.h>

#include <cmath>

#include <kiln/device/cpu/kernel/strip.hpp>

using namespace kiln;

TEST_CASE("strip: numbers keep their bits") {
  CHECK(cpu::from_bits<std::int64_t>(cpu::to_bits((std::int64_t{1} << 62) + 1)) == (std::int64_t{1} << 62) + 1);
  CHECK(cpu::from_bits<std::int8_t>(cpu::to_bits(std::int8_t{-5})) == -5);
  CHECK(cpu::from_bits<bool>(cpu::to_bits(true)));
  CHECK(cpu::from_bits<float>(cpu::to_bits(0.1f)) == 0.1f);
  CHECK(std::signbit(cpu::from_bits<double>(cpu::to_bits(-0.0))));
}
