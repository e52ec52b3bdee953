// SPDX-License-Identifier: BSL-1.0
// Instructions: op codes and the numbers that constants hold.
#include <kiln/tape/instruction.hpp>

#include <doctest/doctest.h>

#include <limits>

using namespace kiln;

TEST_CASE("op codes are never taken for leaves, and leaves never for ops") {
  CHECK(is_op(opcode_of("add")));
  CHECK(is_op(opcode_of("")));
  for (opcode c : {opcode::none, opcode::leaf, opcode::scalar, opcode::constant}) CHECK_FALSE(is_op(c));
  CHECK(opcode_of("add") != opcode_of("sub"));
}

TEST_CASE("op codes are the FNV-1a hash of the name") {
  // The published hash of "foobar", with the highest bit set.
  CHECK(static_cast<std::uint32_t>(opcode_of("foobar")) == (0xbf9cf968u | 0x80000000u));
}

TEST_CASE("constants come back as they went in") {
  auto round_trip = [](dtype type, double value) {
    return number_in({.type = type, .literal = literal_for(type, value)});
  };
  for (double value : {0.0, 1.5, -0.1, 1e300, std::numeric_limits<double>::infinity()}) {
    CHECK(round_trip(dtype::float64, value) == value);
    CHECK(round_trip(dtype::float32, value) == value);
    CHECK(round_trip(dtype::float16, value) == value);
  }
  for (double value : {0.0, 7.0, -7.0}) {
    CHECK(round_trip(dtype::int64, value) == value);
    CHECK(round_trip(dtype::int8, value) == value);
  }
  CHECK(round_trip(dtype::boolean, 1) == 1);
}

TEST_CASE("instructions are equal only if every part is") {
  const instruction base{.code = opcode_of("add"), .type = dtype::float32, .a = 0, .b = 1};
  CHECK(base == instruction{.code = opcode_of("add"), .type = dtype::float32, .a = 0, .b = 1});
  CHECK_FALSE(base == instruction{.code = opcode_of("add"), .type = dtype::float64, .a = 0, .b = 1});
  CHECK_FALSE(base == instruction{.code = opcode_of("add"), .type = dtype::float32, .a = 1, .b = 0});
}
