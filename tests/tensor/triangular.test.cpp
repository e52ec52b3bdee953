// SPDX-License-Identifier: BSL-1.0
// tril, triu, diag and diagonal by their definition, element by element, and their gradients.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include <kiln/tensor/triangular.hpp>
#include <support/compare.hpp>

using namespace kiln;

TEST_CASE("triangular: tril and triu keep one side of a diagonal") {
  for (const dims& sizes : {dims{3, 4}, dims{4, 3}, dims{2, 3, 3}, dims{1, 1}})
    for (std::int64_t k = -5; k <= 5; ++k) {
      const Tensor<double> x = reshape(arange<double>(1, 1 + count(sizes)), sizes);
      const Tensor<double> lower = tril(x, k), upper = triu(x, k);
      CHECK(lower.sizes() == sizes);
      const Tensor<double> flat = x.reshape({-1, sizes[sizes.rank() - 2], sizes.back()});
      for (std::int64_t b = 0; b < flat.size(0); ++b)
        for (std::int64_t i = 0; i < flat.size(1); ++i)
          for (std::int64_t j = 0; j < flat.size(2); ++j) {
            REQUIRE(lower.reshape(flat.sizes())(b, i, j) == (j - i <= k ? flat(b, i, j) : 0));
            REQUIRE(upper.reshape(flat.sizes())(b, i, j) == (j - i >= k ? flat(b, i, j) : 0));
          }
    }
  CHECK(tril(zeros<double>({0, 3})).sizes() == dims{0, 3});
  const Tensor<bool> seen = tril(ones<bool>({2, 2})), ahead = triu(seen, 1);  // as PyTorch's, not int64
  CHECK((seen(0, 0) && !seen(0, 1) && seen(1, 0) && seen(1, 1) && !ahead(0, 1) && !ahead(1, 0)));
  const Tensor<std::uint8_t> bytes = triu(ones<std::uint8_t>({2, 2}));
  CHECK((bytes(1, 0) == 0 && bytes(0, 1) == 1));
  CHECK_THROWS_AS(tril(Tensor<double>{1, 2}), shape_error);
}

TEST_CASE("triangular: diagonals of matrices, and matrices of diagonals") {
  const Tensor<double> x = reshape(arange<double>(12), {3, 4});
  for (std::int64_t k = -6; k <= 6; ++k) {
    const Tensor<double> d = diag(x, k);
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < 3; ++i)
      if (i + k >= 0 && i + k < 4) REQUIRE(d(n++) == x(i, i + k));
    CHECK(d.numel() == n);
    const Tensor<double> v{5, 6}, m = diag(v, k);
    const std::int64_t size = 2 + std::abs(k);
    REQUIRE(m.sizes() == dims{size, size});
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = 0; j < size; ++j) REQUIRE(m(i, j) == (j - i == k ? v(std::min(i, j)) : 0));
  }
  CHECK(diagonal(reshape(arange<double>(18), {2, 3, 3}))(1, 2) == 17);
  for (const std::int64_t far : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    CHECK(diagonal(x, far).numel() == 0);
    CHECK_THROWS_AS(diag(Tensor<double>{1, 2}, far), shape_error);
  }
  CHECK(diag(zeros<double>({0})).sizes() == dims{0, 0});
  CHECK_THROWS_AS(diag(zeros<double>({2, 2, 2})), shape_error);
  CHECK_THROWS_AS(diagonal(zeros<double>({2})), shape_error);
}

TEST_CASE("triangular: gradients") {
  const Tensor<double> x{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, v{1, 2};
  CHECK(test::gradient_difference([](auto a) { return Tensor<double>(tril(a, -1) + diag(a)); }, x) == "");
  CHECK(test::gradient_difference([](auto a) { return diag(a, 1); }, v) == "");
}
