// SPDX-License-Identifier: BSL-1.0
// Equations of triangles against products written out, and differences.
#include <doctest/doctest.h>

#include <autograd/orders.hpp>
#include <kiln/linalg/triangular.hpp>
#include <linalg/residual.hpp>

using namespace linear;

TEST_CASE("solve_triangular: one triangle is read, with its diagonal or ones in its place") {
  const Doubles m{{4, 1, 0.3}, {1.2, 3, 1}, {0.2, 1.5, 2}}, b{{1, 0.5}, {2, -1}, {3, 0.2}};
  const Doubles upper{{4, 1, 0.3}, {0, 3, 1}, {0, 0, 2}}, lower{{4, 0, 0}, {1.2, 3, 0}, {0.2, 1.5, 2}};
  const Doubles ones_upper{{1, 1, 0.3}, {0, 1, 1}, {0, 0, 1}}, ones_lower{{1, 0, 0}, {1.2, 1, 0}, {0.2, 1.5, 1}};
  CHECK(difference_of_product(upper, linalg::solve_triangular(m, b, {.upper = true}), b) < 1e-14);
  CHECK(difference_of_product(lower, linalg::solve_triangular(m, b, {}), b) < 1e-14);
  CHECK(difference_of_product(ones_upper, linalg::solve_triangular(m, b, {.upper = true, .unitriangular = true}), b) <
        1e-14);
  CHECK(difference_of_product(ones_lower, linalg::solve_triangular(m, b, {.unitriangular = true}), b) < 1e-14);
  for (const bool up : {false, true})
    for (const bool ones_there : {false, true})
      for (int order = 1; order <= 2; ++order)
        CHECK(orders::difference(
                  [&](const auto& x) {
                    return linalg::solve_triangular(x[0], x[1], {.upper = up, .unitriangular = ones_there});
                  },
                  {m, b}, order) == "");
  CHECK(
      holds(said<shape_error>([&] { linalg::solve_triangular(b, b, {}); }), "linalg::solve_triangular: shape [3, 2]"));
}
