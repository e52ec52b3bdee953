// SPDX-License-Identifier: BSL-1.0
// split, chunk and unbind: torch's sizes, every element in its place, views, and what does not fit.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <kiln/autograd/backward.hpp>
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
  CHECK(lengths(chunk(zeros<int>({0, 2}), 3), 0) == list{0, 0, 0});
  std::int64_t row = 0;
  for (const auto& piece : split(x * 3, 2))
    for (std::int64_t i = 0; i < piece.size(0); ++i, ++row) CHECK(piece(i, 1) == 3 * (2 * row + 1));
  CHECK(row == 5);
  split(x, 2)[1](0, 0) = 99;
  CHECK(x(2, 0) == 99);
}

TEST_CASE("chunk: an empty axis has as many empty pieces as were asked for, as torch") {
  const auto pieces = chunk(zeros<float>({2, 0, 3}), 4, 1);
  CHECK(pieces.size() == 4);
  for (const Tensor<float>& piece : pieces) CHECK(piece.sizes() == dims{2, 0, 3});
  CHECK(zeros<float>({0}).chunk(3).size() == 3);
}
TEST_CASE("unbind: a view for each position of an axis") {
  const Tensor<int> x = reshape(arange<int>(12), {2, 3, 2});
  for (const int axis : {0, 1, 2}) {
    const auto parts = unbind(x, axis - 3);
    REQUIRE(static_cast<std::int64_t>(parts.size()) == x.size(axis));
    for (std::size_t k = 0; k < parts.size(); ++k) {
      REQUIRE(parts[k].dim() == 2);
      for (std::int64_t i = 0; i < parts[k].size(0); ++i)
        for (std::int64_t j = 0; j < parts[k].size(1); ++j) {
          const auto at = static_cast<std::int64_t>(k);
          REQUIRE(parts[k](i, j) == (axis == 0 ? x(at, i, j) : axis == 1 ? x(i, at, j) : x(i, j, at)));
        }
    }
  }
  CHECK(unbind(x * 2)[1](2, 1) == 22);
  unbind(x)[1](2, 1) = 99;
  CHECK(x(1, 2, 1) == 99);
  CHECK(unbind(zeros<int>({2, 0}), 1).empty());
  CHECK(unbind(zeros<int>({2, 0}))[1].sizes() == dims{0});
  Tensor<double> y{1, 2, 3};
  y.requires_grad();
  backward(unbind(y)[2] * 5);
  CHECK((y.grad()(0) == 0 && y.grad()(2) == 5));
}

TEST_CASE("split: errors name the function that was called") {
  const auto x = zeros<float>({5, 2});
  CHECK_THROWS_WITH_AS(split(x, 2, 2), "split: axis 2 is outside [-2, 1] of a tensor with 2 axes", index_error);
  CHECK_THROWS_WITH_AS(split(x, {2, 3}, 2), "split: axis 2 is outside [-2, 1] of a tensor with 2 axes", index_error);
  CHECK_THROWS_WITH_AS(chunk(x, 2, -3), "chunk: axis -3 is outside [-2, 1] of a tensor with 2 axes", index_error);
  CHECK_THROWS_WITH_AS(unbind(x, 2), "unbind: axis 2 is outside [-2, 1] of a tensor with 2 axes", index_error);
  const Tensor<float> number(1);
  CHECK_THROWS_WITH_AS(unbind(number), "unbind: a 0-d tensor has no axis to take apart: unsqueeze it first",
                       index_error);
  CHECK_THROWS_WITH_AS(chunk(number, 1), "chunk: a 0-d tensor has no axis to take apart: unsqueeze it first",
                       index_error);
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
