// SPDX-License-Identifier: BSL-1.0
// split and chunk: torch's sizes, every element in its place, views, and what does not fit.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <kiln/ops/all.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/split.hpp>

using namespace kiln;

TEST_CASE("split: the sizes of the pieces, and their elements") {
  const Tensor<int> x = reshape(arange<int>(10), {5, 2});
  const auto lengths = [](const auto& pieces, int axis) {
    std::vector<std::int64_t> all;
    for (const auto& piece : pieces) all.push_back(piece.size(axis));
    return all;
  };
  using list = std::vector<std::int64_t>;
  CHECK(lengths(split(x, 2), 0) == list{2, 2, 1});
  CHECK(lengths(split(x, 7), 0) == list{5});
  CHECK(lengths(split(x, 1, -1), 1) == list{1, 1});
  CHECK(lengths(split(x, {1, 0, 4}), 0) == list{1, 0, 4});
  CHECK(lengths(chunk(x, 2), 0) == list{3, 2});
  CHECK(lengths(chunk(x, 4), 0) == list{2, 2, 1});  // as torch: 4 asked for, 3 made
  CHECK(lengths(chunk(x, 9), 0) == list{1, 1, 1, 1, 1});
  CHECK(lengths(split(zeros<int>({0, 2}), 3), 0) == list{0});
  CHECK(lengths(chunk(zeros<int>({0, 2}), 3), 0) == list{0});
  std::int64_t row = 0;
  for (const auto& piece : split(x * 3, 2))
    for (std::int64_t i = 0; i < piece.size(0); ++i, ++row) CHECK(piece(i, 1) == 3 * (2 * row + 1));
  CHECK(row == 5);
  split(x, 2)[1](0, 0) = 99;
  CHECK(x(2, 0) == 99);
}

TEST_CASE("split: what does not fit") {
  const auto x = zeros<float>({5, 2});
  CHECK_THROWS_AS(split(x, 0), value_error);
  CHECK_THROWS_AS(chunk(x, 0), value_error);
  CHECK_THROWS_AS(split(x, 2, 2), index_error);
  CHECK_THROWS_AS(split(x, {2, 2}), shape_error);
  CHECK_THROWS_AS(split(x, {2, 4}), shape_error);
  CHECK_THROWS_AS(split(x, {-1, 6}), shape_error);
}
