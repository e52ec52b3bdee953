// SPDX-License-Identifier: BSL-1.0
// one_hot: rows written out, and labels that are none.
#include <kiln/tensor/one_hot.hpp>

#include <doctest/doctest.h>

#include <algorithm>

#include <kiln/autograd/backward.hpp>

using namespace kiln;

TEST_CASE("each label becomes a row with a single one") {
  const Tensor<std::int64_t> labels{2, 0, 1};
  const auto rows = one_hot<float>(labels, 4);
  const float expected[] = {0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0};
  CHECK(rows.sizes() == dims{3, 4});
  CHECK(std::equal(rows.span().begin(), rows.span().end(), expected));
  static_assert(std::is_same_v<decltype(one_hot(labels)), Tensor<std::int64_t>>);
  CHECK(one_hot(labels).sizes() == dims{3, 3});
  CHECK(one_hot<bool>(labels)(1, 0));
}

TEST_CASE("labels of any shape, layout and integer type") {
  const Tensor<std::uint8_t> labels{{0, 1}, {2, 3}};
  const auto rows = one_hot<double>(labels.t(), 4);
  CHECK(rows.sizes() == dims{2, 2, 4});
  CHECK(rows(0, 1, 2) == 1);
  CHECK(rows(1, 0, 1) == 1);
  CHECK(one_hot(labels + 1, 5)(1, 1, 4) == 1);
  CHECK(one_hot(empty<std::int64_t>({0}), 3).sizes() == dims{0, 3});
  CHECK(one_hot(empty<std::int64_t>({0})).sizes() == dims{0, 0});
}

TEST_CASE("a label outside the classes is named") {
  CHECK_THROWS_WITH_AS(one_hot<float>(Tensor<std::int64_t>{0, 10}, 10),
                       "one_hot: label 10 is outside [0, 10): check the labels or the number of classes", value_error);
  CHECK_THROWS_AS(one_hot(Tensor<std::int64_t>{0, -1}, 10), value_error);
  CHECK_THROWS_AS(one_hot(Tensor<std::int64_t>{0, -1}), value_error);
  CHECK_THROWS_AS(one_hot(Tensor<std::int64_t>{0}, -2), value_error);
}

TEST_CASE("the largest label of all has no class after it") {
  CHECK_THROWS_AS(one_hot(Tensor<std::int64_t>{std::numeric_limits<std::int64_t>::max()}), value_error);
}
