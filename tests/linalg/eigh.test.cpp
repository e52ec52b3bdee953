// SPDX-License-Identifier: BSL-1.0
// Eigenvalues and eigenvectors by what defines them, closed forms, and differences.
#include <doctest/doctest.h>

#include <limits>

#include <autograd/orders.hpp>
#include <kiln/linalg/eigh.hpp>
#include <linalg/residual.hpp>

using namespace linear;

TEST_CASE("eigh: the matrix times each vector is the vector times its value, and they are orthonormal") {
  const Doubles m{{4, 1, 0.3}, {1, 3, 1}, {0.3, 1, 2}}, only_lower{{4, 9, 9}, {1, 3, 9}, {0.3, 1, 2}};
  const auto [values, vectors] = linalg::eigh(stack({m, only_lower}));
  CHECK(values.sizes() == dims{2, 3});
  for (int i = 0; i < 2; ++i) {
    const Doubles v = vectors.select(0, i), l = values.select(0, i);
    CHECK(l(0) < l(1));
    CHECK(l(1) < l(2));
    CHECK(difference_of_product(m, v, Doubles(v * l)) < 1e-14);
    CHECK(difference_of_product(transpose(v, 0, 1), v, eye<double>(3)) < 1e-14);
  }
  CHECK(all_near(linalg::eigvalsh(Doubles{{2, 1}, {1, 2}}), {1, 3}));
  CHECK(linalg::eigh(zeros<double>({2, 0, 0})).eigenvalues.sizes() == dims{2, 0});
  const Doubles bad{{std::numeric_limits<double>::quiet_NaN(), 0}, {0, 1}};
  CHECK(holds(said<value_error>([&] { linalg::eigh(bad); }), "linalg::eigh: the eigenvalues do not converge"));
}

TEST_CASE("eigh: gradients and their gradients are those of differences") {
  const Doubles m{{4, 1, 0.3}, {1, 3, 1}, {0.3, 1, 2}};
  const auto symmetric = [](const Doubles& x) { return Doubles(0.5 * (x + transpose(x, 0, 1))); };
  for (int order = 1; order <= 2; ++order) {
    CHECK(orders::difference([&](const auto& x) { return linalg::eigvalsh(symmetric(x[0])); }, {m}, order) == "");
    CHECK(orders::difference([&](const auto& x) { return linalg::eigh(symmetric(x[0])).eigenvectors; }, {m}, order) ==
          "");
  }
}
