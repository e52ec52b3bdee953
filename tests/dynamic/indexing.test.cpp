// SPDX-License-Identifier: BSL-1.0
// Elements by position, against positions written out by hand.
#include <doctest/doctest.h>

#include <dynamic/values.hpp>
#include <kiln/dynamic/indexing.hpp>

using namespace kiln::dynamic;
using namespace test;
using kiln::dtype;

TEST_CASE("tables") {
  tensor x = made({3, 2}, {1, 2, 3, 4, 5, 6});
  x.requires_grad_();
  const tensor rows = index_select(x, 0, made({3}, {2, 0, 2}, dtype::int32));
  CHECK(values(rows) == std::vector<double>{5, 6, 1, 2, 5, 6});
  reduce("sum", rows).backward();
  CHECK(near(values(x.grad()), {1, 1, 0, 0, 2, 2}));
  CHECK(values(gather(x, 1, made({3, 1}, {0, 1, 0}, dtype::int64))) == std::vector<double>{1, 4, 5});
  CHECK(values(scatter_add(made({3}, {0, 0, 0}), 0, made({3}, {1, 1, 2}, dtype::int64), made({3}, {1, 2, 3}))) ==
        std::vector<double>{0, 3, 3});
  CHECK_THROWS_AS(index_select(x, 0, made({1}, {3}, dtype::int64)), kiln::index_error);
  CHECK_THROWS_AS(index_select(x, 0, made({1}, {1})), kiln::dtype_error);
  CHECK(values(flip(x)) == std::vector<double>{6, 5, 4, 3, 2, 1});
  const std::int64_t last = -1;
  CHECK(values(flip(x, {&last, 1})) == std::vector<double>{2, 1, 4, 3, 6, 5});
}

TEST_CASE("extremes, masks, labels") {
  const tensor x = made({2, 3}, {1, 7, 3, 9, 5, 9});
  const std::int64_t one = 1;
  CHECK(values(argmax(x, {&one, 1})) == std::vector<double>{1, 0});
  CHECK(argmax(x).item_int64() == 3);
  CHECK(argmin(x).item_int64() == 0);
  CHECK(argmin(x, {&one, 1}, true).sizes() == kiln::dims{2, 1});
  CHECK(values(nonzero(made({2, 2}, {0, 1, 2, 0}))) == std::vector<double>{0, 1, 1, 0});
  CHECK(values(masked_select(x, call("gt", {x, scalar(4)}))) == std::vector<double>{7, 9, 5, 9});
  CHECK_THROWS_AS(masked_select(x, x), kiln::dtype_error);
  CHECK(values(one_hot(made({2}, {1, 0}, dtype::uint8), 3)) == std::vector<double>{0, 1, 0, 1, 0, 0});
  CHECK(one_hot(made({1}, {0}, dtype::int64), 2, dtype::float32).type() == dtype::float32);
  CHECK_THROWS_AS(one_hot(made({1}, {5}, dtype::int64), 3), kiln::value_error);
}
