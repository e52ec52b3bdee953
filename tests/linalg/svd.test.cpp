// SPDX-License-Identifier: BSL-1.0
// Singular values by what defines them, closed forms and differences.
#include <doctest/doctest.h>

#include <limits>

#include <autograd/orders.hpp>
#include <kiln/autograd/check_gradient.hpp>
#include <kiln/linalg/svd.hpp>
#include <linalg/residual.hpp>

using namespace linear;

TEST_CASE("svd: falling values between orthonormal vectors make up the matrix") {
  const Doubles tall{{4, 1}, {1.2, 3}, {0.2, 1.5}};
  for (const Doubles& m : {tall, Doubles(transpose(tall, 0, 1))}) {
    const auto [u, s, vh] = linalg::svd(m);
    CHECK(s(0) > s(1));
    CHECK(difference_of_product(Doubles(u * s), vh, m) < 1e-14);
    CHECK(difference_of_product(transpose(u, 0, 1), u, eye<double>(2)) < 1e-14);
    CHECK(difference_of_product(vh, transpose(vh, 0, 1), eye<double>(2)) < 1e-14);
  }
  CHECK(all_near(linalg::svdvals(Doubles{{3, 0}, {0, -5}}), {5, 3}));
  CHECK(linalg::svdvals(zeros<double>({3, 0, 2})).sizes() == dims{3, 0});
  const Doubles bad{{std::numeric_limits<double>::infinity(), 0}, {0, 1}};
  CHECK(holds(said<value_error>([&] { linalg::svd(bad); }), "linalg::svd: an element is infinite or not a number"));
}

TEST_CASE("svd: values have a gradient, vectors say that they have none") {
  Doubles m{{4, 1}, {1.2, 3}, {0.2, 1.5}};
  const auto check = check_gradient([](const auto& x) { return linalg::svdvals(x); }, m);
  CHECK_MESSAGE(check.agrees, check.text);
  m.requires_grad();
  CHECK(holds(said<graph_error>([&] { backward(Doubles(sum(linalg::svd(m).u))); }), "no gradient through u and vh"));
  CHECK(holds(said<graph_error>([&] { grad(Doubles(sum(linalg::svd(m).s)), m, {.create_graph = true}); }),
              "no second derivative"));
  CHECK(holds(said<graph_error>([&] { linalg::pinv(m); }), "linalg::pinv has no gradient"));
}

TEST_CASE("matrix_rank and pinv: values that are rounding do not count") {
  const Doubles twice{{1, 2}, {2, 4}, {3, 6}}, full{{1, 2}, {2, 4}, {3, 7}};
  const Tensor<std::int64_t> ranks = linalg::matrix_rank(stack({twice, full, zeros<double>({3, 2})}));
  CHECK(ranks(0) == 1);
  CHECK(ranks(1) == 2);
  CHECK(ranks(2) == 0);
  CHECK(linalg::matrix_rank(full, 0.1).item() == 1);
  // Of a matrix a b' it is b a' / (|a|^2 |b|^2).
  const Doubles p = linalg::pinv(twice);
  CHECK(all_near(p, {1 / 70.0, 2 / 70.0, 3 / 70.0, 2 / 70.0, 4 / 70.0, 6 / 70.0}));
  CHECK(difference_of_product(linalg::pinv(full), full, eye<double>(2)) < 1e-12);
  CHECK(linalg::pinv(zeros<double>({2, 0, 3})).sizes() == dims{2, 3, 0});
}
