// SPDX-License-Identifier: BSL-1.0
// Symbols: applying ops to them writes tapes; numbers beside them become constants of their type.
#include <kiln/tape/symbol.hpp>

#include <doctest/doctest.h>

#include "sheet.hpp"

using namespace kiln;

TEST_CASE("symbol: a number becomes a constant of the other operand's type") {
  sheet s;
  const symbol f = s.leaf(0), d = s.leaf(1, dtype::float64), k = s.leaf(2, dtype::int32);
  CHECK((f * 2).type() == dtype::float32);
  CHECK((2 * d).type() == dtype::float64);
  CHECK((k + 1).type() == dtype::int32);
  CHECK(s.p[(k + 1).now().b].type == dtype::int32);
  CHECK(number_in(s.p[(k + 1).now().b]) == 1);
  CHECK(number_in(s.p[(0.1 * d).now().a]) == 0.1);
}

TEST_CASE("symbol: a comparison is bool, and constants beside it are of the type compared") {
  sheet s;
  const symbol x = s.leaf(0);
  CHECK((x <= 0).type() == dtype::boolean);
  CHECK(s.p[(x <= 0).now().b].type == dtype::float32);
  CHECK(logical_and(x > 0, x < 1).type() == dtype::boolean);
}

TEST_CASE("symbol: the condition of where is no model for the type of its constants") {
  sheet s;
  const symbol g = s.leaf(0, dtype::float64), c = s.leaf(1, dtype::boolean);
  CHECK(where(c, g, 0).type() == dtype::float64);
  CHECK(where(c, 0, g).type() == dtype::float64);
  CHECK(s.p[where(c, 0, g).now().b].type == dtype::float64);
}

TEST_CASE("symbol: cast to its own type writes nothing") {
  sheet s;
  const symbol x = s.leaf(0);
  CHECK(cast(x, dtype::float32).id == x.id);
  CHECK(cast(x, dtype::int8).type() == dtype::int8);
}

TEST_CASE("symbol: no gradient stands for no instruction") {
  const symbol nothing = no_gradient{};
  CHECK(nothing.on == nullptr);
}
