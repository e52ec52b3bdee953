// SPDX-License-Identifier: BSL-1.0
// default_collate: what becomes of samples of each kind.
#include <kiln/data/collate.hpp>

#include <doctest/doctest.h>

#include <kiln/kiln.hpp>

using namespace kiln;
using data::default_collate;

TEST_CASE("default_collate: tensors are stacked, numbers become a tensor, texts a vector") {
  const auto stacked = default_collate(std::vector{Tensor<float>{1, 2}, Tensor<float>{3, 4}, Tensor<float>{5, 6}});
  CHECK(stacked.sizes() == dims{3, 2});
  CHECK(stacked(2, 0) == 5);
  const Tensor<float> m{{1, 2}, {3, 4}};
  CHECK(default_collate(std::vector{m.t(), m.t()})(1, 0, 1) == 3);
  CHECK(default_collate(std::vector{Tensor<float>(1.0f), Tensor<float>(2.0f)}).sizes() == dims{2});
  CHECK(default_collate(std::vector{empty<float>({0, 3}), empty<float>({0, 3})}).sizes() == dims{2, 0, 3});
  const Tensor<std::int32_t> ints = default_collate(std::vector<int>{4, 5});
  CHECK(ints(1) == 5);
  const Tensor<std::int64_t> longs = default_collate(std::vector<long long>{4, 5});
  CHECK(longs(1) == 5);
  CHECK(default_collate(std::vector<std::string>{"a", "b"}) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("default_collate: tuples and pairs, also within each other, become tuples") {
  using sample = std::tuple<std::pair<Tensor<float>, int>, std::string>;
  const auto [inner, names] =
      default_collate(std::vector<sample>{{{Tensor<float>{1, 2}, 7}, "x"}, {{Tensor<float>{3, 4}, 8}, "y"}});
  CHECK(std::get<0>(inner)(1, 0) == 3);
  CHECK(std::get<1>(inner)(0) == 7);
  CHECK(names[1] == "y");
}

TEST_CASE("default_collate: tensors of several shapes, and none at all") {
  CHECK_THROWS_WITH_AS(default_collate(std::vector{Tensor<float>{1, 2}, Tensor<float>{3}}),
                       doctest::Contains("samples of shapes [2] and [1]"), shape_error);
  CHECK_THROWS_AS(default_collate(std::vector<int>{}), value_error);
}
