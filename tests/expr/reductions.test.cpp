// SPDX-License-Identifier: BSL-1.0
// Axes of reductions, and what the composed ones are made of. Values: tests/ops/reduction.test.cpp.
#include <kiln/expr/reductions.hpp>

#include <kiln/expr/formula.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "handles.hpp"

using namespace kiln;

namespace {
const handle<float> x({2, 3, 4});
}

TEST_CASE("axes: none is all, negative ones count from the end") {
  CHECK(axes{}.mask(3, "sum") == 0b111);
  CHECK(axes{}.mask(0, "sum") == 0);
  CHECK(axes(1).mask(3, "sum") == 0b010);
  CHECK(axes(-1).mask(3, "sum") == 0b100);
  CHECK(axes({0, -1}).mask(3, "sum") == 0b101);
  CHECK(axes(0).mask(0, "sum") == 0);
  CHECK(axes(-1).mask(0, "sum") == 0);
}

TEST_CASE("axes: integers of any type, one or in a vector") {
  CHECK(axes(std::size_t{2}).mask(3, "sum") == 0b100);
  CHECK(axes(std::vector<int>{0, -1}).mask(3, "sum") == 0b101);
  const unsigned first = 0;
  CHECK(axes({first, 1}).mask(3, "sum") == 0b011);
}

TEST_CASE("axes: mistakes name the function, the axis and the range") {
  CHECK_THROWS_WITH_AS(sum(x, 3), "sum: axis 3 is outside [-3, 2] of a tensor with 3 axes", index_error);
  CHECK_THROWS_WITH_AS(max(x, {0, -4}), doctest::Contains("max: axis -4 is outside [-3, 2]"), index_error);
  CHECK_THROWS_WITH_AS(softmax(x, 5), doctest::Contains("softmax: axis 5"), index_error);
  CHECK_THROWS_WITH_AS(mean(x, 7), doctest::Contains("mean: axis 7"), index_error);
  CHECK_THROWS_WITH_AS(norm(x, 3), "norm: axis 3 is outside [-3, 2] of a tensor with 3 axes", index_error);
  CHECK_THROWS_WITH_AS(count_nonzero(x, 3), doctest::Contains("count_nonzero: axis 3"), index_error);
  CHECK_THROWS_WITH_AS(layer_norm(x, -9), doctest::Contains("layer_norm: axis -9"), index_error);
  CHECK_THROWS_WITH_AS(sum(x, {1, 1}), "sum: axis 1 is named twice in [1, 1]", value_error);
  CHECK_THROWS_WITH_AS(sum(x, {2, -1}), doctest::Contains("axis -1 is named twice"), value_error);
}

TEST_CASE("composed reductions: what they are made of") {
  CHECK(formula(mean(x, 2)) == "sum(x0) / 4");
  CHECK(formula(var(x, 2)) == "squared_deviation(x0, 4) / 3");
  CHECK(formula(stddev(x, 2, false, 0)) == formula(kiln::std(x, 2, false, 0)));
  CHECK(formula(kiln::std(x, 2, false, 0)) == "standard_deviation(x0, 4, 4)");
  CHECK(formula(norm(x)) == "root(sum(square(x0)))");
  CHECK(formula(count_nonzero(x)) == "sum(int64(x0 != 0))");
  CHECK(formula(count_nonzero(x > 0)) == "sum(int64(x0 > 0))");
  CHECK(formula(layer_norm(x, -1, 0.5)) == "layer_norm(x0, 4, 0.5)");
  CHECK(formula(rms_norm(x)) == "rms_norm(x0, 4, 1e-06)");
}

TEST_CASE("reductions: integers are converted before, not after") {
  const handle<std::uint8_t> u({4});
  CHECK(formula(sum(u)) == "sum(int64(x0))");
  CHECK(formula(mean(u)) == "sum(float32(x0)) / 4");
  CHECK(formula(any(u)) == "any(bool(x0))");
  CHECK(formula(softmax(u)) == "softmax(float32(x0))");
  CHECK(formula(max(u)) == "max(x0)");
}
