// SPDX-License-Identifier: BSL-1.0
// Equations, inverses and determinants against products written out, closed forms and differences.
#include <doctest/doctest.h>

#include <limits>

#include <autograd/orders.hpp>
#include <kiln/linalg/lu.hpp>
#include <linalg/residual.hpp>

using namespace linear;

TEST_CASE("solve: what it finds solves the equations, for columns, vectors and stacks that broadcast") {
  const Doubles a{{{4, 1, 0}, {1.2, 3, 1}, {0, 1, 2}}, {{0, 2, 1}, {1, 0, 0}, {3, 1, 5}}}, one = a.select(0, 0);
  const Doubles columns{{1, 0}, {2, -1}, {3, 5}}, vector{1, 2, 3}, vectors{{1, 2, 3}, {4, 5, 6}};
  CHECK(difference_of_product(one, linalg::solve(one, columns), columns) < 1e-14);
  CHECK(linalg::solve(one, vector).sizes() == dims{3});
  CHECK(difference_of_product(one, unsqueeze(linalg::solve(one, vector), 1), unsqueeze(vector, 1)) < 1e-14);
  const Doubles each = linalg::solve(a, vectors);  // a vector for each matrix
  CHECK(each.sizes() == dims{2, 3});
  const Doubles spread = linalg::solve(a, columns);
  CHECK(spread.sizes() == dims{2, 3, 2});
  for (int i = 0; i < 2; ++i) {
    const Doubles m = a.select(0, i);
    CHECK(difference_of_product(m, unsqueeze(each.select(0, i), 1), unsqueeze(vectors.select(0, i), 1)) < 1e-14);
    CHECK(difference_of_product(m, spread.select(0, i), columns) < 1e-14);
  }
  // Views and expressions, and no equations.
  CHECK(difference_of_product(transpose(one, 0, 1), linalg::solve(transpose(one, 0, 1), columns * 2), columns * 2) <
        1e-13);
  CHECK(linalg::solve(zeros<double>({0, 3, 3}), zeros<double>({0, 3, 2})).sizes() == dims{0, 3, 2});
  CHECK(linalg::solve(zeros<double>({0, 0}), zeros<double>({0, 2})).sizes() == dims{0, 2});
}

TEST_CASE("inv, det, slogdet, matrix_power: closed forms") {
  const Doubles m{{2, 1}, {5, 3}};
  CHECK(all_near(linalg::inv(m), {3, -1, -5, 2}));
  CHECK(all_near(linalg::det(m), {1}));
  CHECK(linalg::det(m).dim() == 0);
  CHECK(all_near(linalg::det(Doubles{{1, 2}, {2, 4}}), {0}));
  CHECK(all_near(linalg::det(zeros<double>({2, 0, 0})), {1, 1}));
  const Doubles huge = eye<double>(40) * 1e30;
  const auto [sign, logabsdet] = linalg::slogdet(stack({huge, -huge * 2}));
  CHECK(all_near(sign, {1, 1}));
  CHECK(all_near(logabsdet, {40 * std::log(1e30), 40 * std::log(2e30)}));
  CHECK(all_near(linalg::slogdet(Doubles{{0, 1}, {1, 0}}).sign, {-1}));
  const auto none = linalg::slogdet(Doubles{{1, 2}, {2, 4}});
  CHECK(all_near(none.sign, {0}));
  CHECK(none.logabsdet.item() == -std::numeric_limits<double>::infinity());
  CHECK(all_near(linalg::matrix_power(m, 3), {43, 24, 120, 67}));
  CHECK(all_near(linalg::matrix_power(m, -2), {14, -5, -25, 9}));
  CHECK(all_near(linalg::matrix_power(m, 0), {1, 0, 0, 1}));
  CHECK(all_near(cast<double>(linalg::inv(Tensor<float>{{4, 0}, {0, 0.5F}})), {0.25, 0, 0, 2}));
}

TEST_CASE("solve, inv, det, slogdet: gradients and their gradients are those of differences") {
  const Doubles m{{4, 1, 0.3}, {1.2, 3, 1}, {0.2, 1.5, 2}}, b{{1, 0.5}, {2, -1}, {3, 0.2}};
  for (int order = 1; order <= 2; ++order) {
    CHECK(orders::difference([](const auto& x) { return linalg::solve(x[0], x[1]); }, {m, b}, order) == "");
    CHECK(orders::difference([](const auto& x) { return linalg::inv(x[0]); }, {m}, order) == "");
    CHECK(orders::difference([](const auto& x) { return linalg::det(x[0]); }, {m}, order) == "");
    CHECK(orders::difference([](const auto& x) { return linalg::slogdet(x[0]).logabsdet; }, {m}, order) == "");
  }
  // One matrix for a stack of right sides collects the gradients of all.
  CHECK(orders::difference([](const auto& x) { return linalg::solve(x[0], x[1]); }, {m, Doubles(stack({b, 2 * b}))},
                           1) == "");
}

TEST_CASE("solve, inv, matrix_power: what has no inverse or no matrices is refused by name") {
  const Doubles singular{{1, 2}, {2, 4}}, flat{1, 2}, wide{{1, 2, 3}, {4, 5, 6}}, two{{1, 0}, {0, 1}};
  CHECK(said<value_error>([&] {
          linalg::inv(stack({two, singular}));
        }) ==
        "linalg::inv: the matrix is singular, matrix 1 of 2: pivot 1 is 0; linalg::pinv has what comes nearest to an "
        "inverse");
  CHECK(holds(said<value_error>([&] { linalg::solve(singular, flat); }),
              "linalg::solve: the matrix is singular: pivot 1"));
  CHECK(holds(said<value_error>([&] { linalg::matrix_power(singular, -1); }), "singular"));
  CHECK(holds(said<shape_error>([&] { linalg::inv(flat); }), "linalg::inv: shape [2] has no matrices"));
  CHECK(holds(said<shape_error>([&] { linalg::det(wide); }),
              "linalg::det: shape [2, 3] has matrices that are not square"));
  CHECK(holds(said<shape_error>([&] { linalg::solve(wide, flat); }), "not square: lstsq"));
  CHECK(holds(said<shape_error>([&] { linalg::solve(two, Doubles{1, 2, 3}); }), "2 equations have 3 right sides"));
  CHECK(holds(said<shape_error>([&] {
                linalg::solve(expand(two, {3, 2, 2}), expand(two, {2, 2, 2}));
              }),
              "linalg::solve"));
}
