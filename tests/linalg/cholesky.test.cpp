// SPDX-License-Identifier: BSL-1.0
// Triangles whose squares, written out, are what they were made of.
#include <doctest/doctest.h>

#include <autograd/orders.hpp>
#include <kiln/linalg/cholesky.hpp>
#include <linalg/residual.hpp>

using namespace linear;

TEST_CASE("cholesky: lower triangles whose squares are the matrices") {
  const Doubles m{{4, 1, 0.3}, {1, 3, 1}, {0.3, 1, 2}}, only_lower{{4, 9, 9}, {1, 3, 9}, {0.3, 1, 2}};
  const Doubles l = linalg::cholesky(stack({m, only_lower}));
  for (int i = 0; i < 2; ++i) {
    const Doubles one = l.select(0, i);
    CHECK(difference_of_product(one, transpose(one, 0, 1), m) < 1e-14);
    CHECK(one(0, 1) == 0);
    CHECK(one(1, 1) > 0);
  }
  const auto of_symmetric = [](const auto& x) { return linalg::cholesky(x[0] + transpose(x[0], 0, 1)); };
  for (int order = 1; order <= 2; ++order) CHECK(orders::difference(of_symmetric, {m}, order) == "");
  CHECK(holds(said<value_error>([&] { linalg::cholesky(stack({m, -m})); }), "not positive definite, matrix 1 of 2"));
}
