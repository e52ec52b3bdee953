// SPDX-License-Identifier: BSL-1.0
// masked_fill, masked_select and nonzero by their definitions, broadcast, and their gradients.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <kiln/tensor/mask.hpp>
#include <kiln/tensor/masked_elements.hpp>
#include <support/compare.hpp>

using namespace kiln;

TEST_CASE("mask: masked_fill") {
  const Tensor<float> x{{1, -2}, {-3, 4}};
  const Tensor<float> positive = masked_fill(x, x < 0, 0.5);
  static_assert(std::is_same_v<decltype(masked_fill(x, x < 0, 0.5))::value_type, float>);
  CHECK(positive(0, 0) == 1);
  CHECK(positive(0, 1) == 0.5f);
  CHECK(positive(1, 0) == 0.5f);
  const Tensor<float> columns = masked_fill(x, Tensor<bool>{false, true}, -1);
  CHECK(columns(0, 0) == 1);
  CHECK(columns(1, 1) == -1);
  CHECK_THROWS_WITH_AS(masked_fill(x, Tensor<bool>{true, false, true}, 0),
                       doctest::Contains("masked_fill: shapes [2, 2] and [3] do not broadcast"), shape_error);
}

TEST_CASE("mask: nonzero gives positions in row-major order") {
  const Tensor<int> x{{0, 5, 0}, {7, 0, -1}};
  const Tensor<std::int64_t> at = nonzero(x);
  REQUIRE(at.sizes() == dims{3, 2});
  const std::int64_t want[3][2] = {{0, 1}, {1, 0}, {1, 2}};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) CHECK(at(i, j) == want[i][j]);
  const Tensor<std::int64_t> turned = nonzero(transpose(x));
  CHECK(turned(0, 0) == 0);
  CHECK(turned(0, 1) == 1);
  CHECK(nonzero(zeros<float>({3})).sizes() == dims{0, 1});
  CHECK(nonzero(zeros<float>({0, 2})).sizes() == dims{0, 2});
  CHECK(nonzero(Tensor<float>(2.0f)).sizes() == dims{1, 0});
}

TEST_CASE("mask: masked_select") {
  const Tensor<double> x{{1, -2, 3}, {-4, 5, -6}};
  const Tensor<double> positive = masked_select(x, x > 0);
  REQUIRE(positive.sizes() == dims{3});
  CHECK(positive(0) == 1);
  CHECK(positive(1) == 3);
  CHECK(positive(2) == 5);
  CHECK(masked_select(x * 2, Tensor<bool>{true, false, true})(3) == -12);
  CHECK(masked_select(Tensor<double>{1, 2}, Tensor<bool>{{true}, {false}, {true}}).sizes() == dims{4});
  CHECK(masked_select(x, x > 9).sizes() == dims{0});
  CHECK_THROWS_AS(masked_select(x, Tensor<bool>{true, false}), shape_error);
  CHECK(test::gradient_difference([](auto a) { return masked_select(a * a, a > 0); }, x) == "");
}

TEST_CASE("mask: a number that the element type does not hold is refused wherever it would be written") {
  Tensor<std::uint8_t> x{1, 2, 255};
  const Tensor<bool> first{true, false, false};
  CHECK_THROWS_AS(masked_fill(x, first, 300), value_error);
  CHECK_THROWS_AS(masked_fill(x, first, -1), value_error);
  CHECK_THROWS_WITH_AS(x.fill_(300), "fill_: 300 is no value of uint8: use a wider element type or a smaller number",
                       value_error);
  CHECK_THROWS_AS(x.copy_(-1), value_error);
  CHECK_THROWS_AS(x.slice(0, 0, 2).fill_(1e9), value_error);
  CHECK_THROWS_AS(x[first] = 300, value_error);
  CHECK_THROWS_AS(Tensor<std::int32_t>{1}.fill_(NAN), value_error);
  CHECK(x(0) == 1);
  CHECK(x(2) == 255);
  x.fill_(255);
  x[first] = 7.9;  // as a cast has it
  CHECK(x(0) == 7);
  CHECK(x(1) == 255);
  CHECK(Tensor<std::int8_t>{1}.fill_(-128)(0) == -128);
}
