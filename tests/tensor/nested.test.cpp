// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <kiln/kiln.hpp>

using namespace kiln;

TEST_CASE("nested lists: depth gives the axes, also where every list has one element") {
  CHECK(Tensor<float>{1, 2, 3}.sizes() == dims{3});
  CHECK(Tensor<float>{{1, 2, 3}, {4, 5, 6}}.sizes() == dims{2, 3});
  CHECK(Tensor<double>{{1}, {2}}.sizes() == dims{2, 1});
  CHECK(Tensor<float>{{{1}}, {{2}}}.sizes() == dims{2, 1, 1});
  CHECK(Tensor<float>{7}.sizes() == dims{1});
}

TEST_CASE("nested lists: values stand in row-major order and are converted to the element type") {
  const Tensor<float> a{{1, 2.5}, {-3, 4}};
  CHECK(a(0, 1) == 2.5f);
  CHECK(a(1, 0) == -3.0f);
  const Tensor<bool> flags{true, false, true};
  CHECK(flags(0));
  CHECK_FALSE(flags(1));
  CHECK(static_cast<float>(Tensor<half>{0.5, 2}(1)) == 2.0f);
}

TEST_CASE("nested lists: parts of different shapes are refused with both shapes in the text") {
  CHECK_THROWS_WITH_AS((Tensor<float>{{1, 2}, {3}}), doctest::Contains("[2] and of shape [1]"), shape_error);
}
