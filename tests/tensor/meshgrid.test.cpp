// SPDX-License-Identifier: BSL-1.0
// meshgrid: each coordinate in its place, in both orders, gradients, and what is no row of coordinates.
#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

#include <kiln/ops/all.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/meshgrid.hpp>
#include <support/compare.hpp>

using namespace kiln;

TEST_CASE("meshgrid: coordinates of two and of three axes") {
  const Tensor<double> x{1, 2, 3}, z{7, 8, 9, 10};
  const Tensor<std::int64_t> y{4, 5};
  const auto [a, b] = meshgrid(x, y);
  static_assert(std::is_same_v<decltype(b), const Tensor<std::int64_t>>);
  REQUIRE((a.sizes() == dims{3, 2} && b.sizes() == dims{3, 2}));
  const auto [c, d] = meshgrid(x * 2, y, grid_indexing::xy);
  REQUIRE((c.sizes() == dims{2, 3} && d.sizes() == dims{2, 3}));
  const auto [e, f, g] = meshgrid(x, y, z);
  const auto [h, i, j] = meshgrid(x, y, z, grid_indexing::xy);
  REQUIRE((e.sizes() == dims{3, 2, 4} && f.sizes() == e.sizes() && g.sizes() == e.sizes()));
  REQUIRE((h.sizes() == dims{2, 3, 4} && i.sizes() == h.sizes() && j.sizes() == h.sizes()));
  for (int k = 0; k < 3; ++k)
    for (int l = 0; l < 2; ++l) {
      CHECK((a(k, l) == x(k) && b(k, l) == y(l)));
      CHECK((c(l, k) == 2 * x(k) && d(l, k) == y(l)));
      for (int m = 0; m < 4; ++m) {
        CHECK((e(k, l, m) == x(k) && f(k, l, m) == y(l) && g(k, l, m) == z(m)));
        CHECK((h(l, k, m) == x(k) && i(l, k, m) == y(l) && j(l, k, m) == z(m)));
      }
    }
  const auto [one, many] = meshgrid(Tensor<double>(5), x);
  CHECK((one.sizes() == dims{1, 3} && one(0, 2) == 5 && many(0, 2) == 3));
  const auto [none, some] = meshgrid(zeros<double>({0}), x);
  CHECK((none.sizes() == dims{0, 3} && some.sizes() == dims{0, 3}));
}

TEST_CASE("meshgrid: gradients, and what it refuses by its name") {
  const Tensor<double> x{1, 2, 3}, y{4, 5};
  const auto f = [](auto a, auto b) {
    const auto [first, second] = meshgrid(a, b, grid_indexing::xy);
    return first * second;
  };
  CHECK(test::gradient_difference(f, x, y) == "");
  CHECK_THROWS_WITH_AS(meshgrid(x, zeros<double>({2, 3})),
                       "meshgrid: shape [2, 3] is no row of coordinates: give 1-D tensors", shape_error);
}
