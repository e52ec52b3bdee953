// SPDX-License-Identifier: BSL-1.0
// The shape an expression will have, and the text when it cannot have one.
#include <kiln/expr/shape.hpp>

#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>

#include <doctest/doctest.h>

#include "handles.hpp"

using namespace kiln;

namespace {
handle<float> of(dims sizes) {
  return handle<float>(sizes);
}
}  // namespace

TEST_CASE("shape: operands broadcast as in NumPy") {
  CHECK(shape_of(of({2, 3}) + of({3})) == dims{2, 3});
  CHECK(shape_of(of({4, 1}) * of({1, 5}) - of({2, 1, 1})) == dims{2, 4, 5});
  CHECK(shape_of(2 * of({3})) == dims{3});
  CHECK(shape_of(of({}) + of({})) == dims{});
  CHECK(shape_of(where(of({2, 1}) > 0, of({3}), 0)) == dims{2, 3});
  CHECK(shape_of(of({0, 3}) + of({1, 3})) == dims{0, 3});
}

TEST_CASE("shape: a mismatch names the operation and both shapes") {
  CHECK_THROWS_WITH_AS(
      shape_of(of({2, 3}) + of({2})),
      "add: shapes [2, 3] and [2] do not broadcast: aligned at the right, two sizes must be equal or one of them 1 "
      "(use unsqueeze or reshape to line the axes up)",
      shape_error);
  CHECK_THROWS_WITH_AS(shape_of(atan2(of({4}), of({5}))), doctest::Contains("atan2: shapes [4] and [5]"), shape_error);
  CHECK_THROWS_WITH_AS(shape_of(relu(of({2}) * of({3}))), doctest::Contains("mul: shapes [2] and [3]"), shape_error);
  // The operation whose operands disagree, not the one that the leaf belongs to.
  CHECK_THROWS_WITH_AS(shape_of(of({2}) * of({2}) + of({3}) * of({3})), doctest::Contains("add: shapes [2] and [3]"),
                       shape_error);
}

TEST_CASE("shape: reductions drop their axes, or keep them with size 1") {
  const auto x = of({2, 3, 4});
  CHECK(shape_of(sum(x)) == dims{});
  CHECK(shape_of(sum(x, {}, true)) == dims{1, 1, 1});
  CHECK(shape_of(sum(x, 1)) == dims{2, 4});
  CHECK(shape_of(sum(x, -1, true)) == dims{2, 3, 1});
  CHECK(shape_of(sum(x, {0, 2})) == dims{3});
  CHECK(shape_of(x - mean(x, 1, true)) == dims{2, 3, 4});
  CHECK(shape_of(softmax(x)) == dims{2, 3, 4});
  CHECK(shape_of(sum(of({}), -1)) == dims{});
  // The axis is the operand's, which the expression around it need not have.
  CHECK(shape_of(sum(of({5, 3}), 0) + of({2, 3})) == dims{2, 3});
  CHECK_THROWS_WITH_AS(shape_of(x - mean(x, 1)), doctest::Contains("sub: shapes [2, 3, 4] and [2, 4]"), shape_error);
}

TEST_CASE("reduced_sizes: axes are bits") {
  CHECK(reduced_sizes({2, 3, 4}, 0b101, false) == dims{3});
  CHECK(reduced_sizes({2, 3, 4}, 0b101, true) == dims{1, 3, 1});
  CHECK(reduced_sizes({2}, 0, false) == dims{2});
}
