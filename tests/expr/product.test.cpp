// SPDX-License-Identifier: BSL-1.0
// Shapes of matrix products: NumPy's rules, and the texts when they do not fit.
#include <kiln/expr/product.hpp>

#include <doctest/doctest.h>

using namespace kiln;

TEST_CASE("product_sizes: matrices, vectors and batches as in NumPy") {
  CHECK(product_sizes({2, 3}, {3, 4}) == dims{2, 4});
  CHECK(product_sizes({3}, {3}) == dims{});
  CHECK(product_sizes({2, 3}, {3}) == dims{2});
  CHECK(product_sizes({3}, {3, 4}) == dims{4});
  CHECK(product_sizes({5, 2, 3}, {3, 4}) == dims{5, 2, 4});
  CHECK(product_sizes({5, 1, 2, 3}, {6, 3, 4}) == dims{5, 6, 2, 4});
  CHECK(product_sizes({5, 2, 3}, {3}) == dims{5, 2});
  CHECK(product_sizes({3}, {5, 3, 4}) == dims{5, 4});
  CHECK(product_sizes({2, 0}, {0, 4}) == dims{2, 4});
  CHECK(product_sizes({0, 3}, {3, 4}) == dims{0, 4});
}

TEST_CASE("product_sizes: what does not fit is named with the way out") {
  CHECK_THROWS_WITH_AS(product_sizes({2, 3}, {4, 5}),
                       "matmul: shapes [2, 3] and [4, 5] do not fit: the last size of the left, 3, must equal the "
                       "second to last size of "
                       "the right, 4 (transpose one of them?)",
                       shape_error);
  CHECK_THROWS_WITH_AS(product_sizes({2, 3}, {4}), doctest::Contains("must equal the only size of the right, 4"),
                       shape_error);
  CHECK_THROWS_WITH_AS(product_sizes({}, {3}), doctest::Contains("a 0-d operand has no axis to sum over (use *)"),
                       shape_error);
  CHECK_THROWS_WITH_AS(product_sizes({2, 2, 3}, {3, 3, 4}), doctest::Contains("matmul batches: shapes [2] and [3]"),
                       shape_error);
}
