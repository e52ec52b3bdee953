// SPDX-License-Identifier: BSL-1.0
// Orthogonal columns and triangles by what defines them; least squares by their normal equations; differences.
#include <doctest/doctest.h>

#include <autograd/orders.hpp>
#include <kiln/linalg/qr.hpp>
#include <linalg/residual.hpp>

using namespace linear;

namespace {
const Doubles tall{{4, 1}, {1.2, 3}, {0.2, 1.5}};
}

TEST_CASE("qr: orthonormal columns times an upper triangle are the matrix, tall, wide or square") {
  for (const Doubles& m : {tall, Doubles(transpose(tall, 0, 1)), Doubles(tall.slice(0, 0, 2))}) {
    const auto [q, r] = linalg::qr(m);
    CHECK(q.size(1) == 2);
    CHECK(difference_of_product(q, r, m) < 1e-14);
    CHECK(difference_of_product(transpose(q, 0, 1), q, eye<double>(2)) < 1e-14);
    CHECK(r(1, 0) == 0);
  }
}

TEST_CASE("lstsq: what is left over is orthogonal to the columns") {
  const Doubles b{1, 2, 4};
  const Doubles x = linalg::lstsq(tall, b);
  CHECK(x.sizes() == dims{2});
  Doubles left = zeros<double>({3, 1});
  for (int i = 0; i < 3; ++i) left(i, 0) = tall(i, 0) * x(0) + tall(i, 1) * x(1) - b(i);
  CHECK(difference_of_product(transpose(tall, 0, 1), left, zeros<double>({2, 1})) < 1e-14);
  CHECK(holds(said<shape_error>([&] {
                linalg::lstsq(transpose(tall, 0, 1), Doubles{1, 2});
              }),
              "fewer rows than columns"));
  const Doubles twice{{1, 2}, {2, 4}, {3, 6}};
  CHECK(holds(said<value_error>([&] {
                linalg::lstsq(stack({tall, twice}), b);
              }),
              "depend on each other, matrix 1 of 2"));
}

TEST_CASE("qr, lstsq: gradients and their gradients are those of differences") {
  const Doubles b{1, 2, 4};
  for (int order = 1; order <= 2; ++order) {
    CHECK(orders::difference([](const auto& x) { return linalg::qr(x[0]).q; }, {tall}, order) == "");
    CHECK(orders::difference([](const auto& x) { return linalg::qr(x[0]).r; }, {tall}, order) == "");
    CHECK(orders::difference([](const auto& x) { return linalg::lstsq(x[0], x[1]); }, {tall, b}, order) == "");
  }
  Doubles wide = transpose(tall, 0, 1).clone();
  wide.requires_grad();
  CHECK(holds(said<graph_error>([&] { backward(Doubles(sum(linalg::qr(wide).r))); }), "no more columns than rows"));
}
