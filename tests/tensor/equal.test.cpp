// SPDX-License-Identifier: BSL-1.0
// equal, allclose and isclose: shapes, values, what is not a number, numbers beside tensors.
#include <doctest/doctest.h>

#include <limits>

#include <kiln/tensor/equal.hpp>

using namespace kiln;

TEST_CASE("equal: sizes and elements") {
  const Tensor<float> a{{1, 2}, {3, 4}};
  CHECK(equal(a, a));
  CHECK(equal(a, Tensor<double>{{1, 2}, {3, 4}}));
  CHECK(equal(a + 1, Tensor<float>{{2, 3}, {4, 5}}));
  CHECK_FALSE(equal(a, Tensor<float>{{1, 2}, {3, 5}}));
  CHECK_FALSE(equal(Tensor<float>{1, 1}, Tensor<float>{{1, 1}}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_FALSE(equal(Tensor<float>{nan}, Tensor<float>{nan}));
}

TEST_CASE("equal: allclose has numpy's tolerances") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor<double> a{100, 1e-9};
  CHECK(allclose(a, Tensor<double>{100.0009, 0}));
  CHECK_FALSE(allclose(a, Tensor<double>{100.0011, 0}));
  CHECK_FALSE(allclose(a, Tensor<double>{100, 2e-8}));
  CHECK(allclose(a, Tensor<double>{101, 0}, 0, 1.001));
  CHECK(allclose(Tensor<double>{inf, -inf}, Tensor<double>{inf, -inf}));
  CHECK_FALSE(allclose(Tensor<double>{inf}, Tensor<double>{-inf}));
  CHECK_FALSE(allclose(Tensor<double>{nan}, Tensor<double>{nan}));
  CHECK(allclose(Tensor<float>{2, 2}, 2.0));
  CHECK(allclose(2, Tensor<float>{2, 2}));
  CHECK_FALSE(allclose(Tensor<float>{2, 3}, 2.0));
  CHECK_FALSE(allclose(Tensor<double>{1, 2}, inf));
  CHECK(allclose(Tensor<double>{inf, inf}, inf));
  CHECK_THROWS_WITH_AS(allclose(Tensor<float>{1, 2}, Tensor<float>{1, 2, 3}),
                       doctest::Contains("allclose: shapes [2] and [3] do not broadcast"), shape_error);
}

TEST_CASE("equal: isclose says it of each element, lazily") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double left[] = {100, 100, 1e-9, inf, inf, inf, 1, nan, nan, 1};
  const double right[] = {100.0009, 100.0011, 0, inf, -inf, 1, inf, nan, 1, nan};
  const bool close[] = {true, false, true, true, false, false, false, false, false, false};
  const Tensor<double> a = tensor(left), b = tensor(right);
  const Tensor<bool> got = isclose(a, b), with_nan = isclose(a, b, 1e-5, 1e-8, true);
  for (int i = 0; i < 10; ++i) {
    CHECK(got(i) == close[i]);
    CHECK(with_nan(i) == (close[i] || i == 7));
  }
  CHECK(isclose(Tensor<float>{1, 2}, 2.0f)(1));
  CHECK_FALSE(isclose(2, Tensor<float>{1, 2}, 0, 0.5)(0));
  CHECK(isclose(Tensor<float>{{1}, {2}}, Tensor<int>{1, 2, 3}).sizes() == dims{2, 3});
  CHECK_THROWS_WITH_AS(isclose(Tensor<float>{1, 2}, Tensor<float>{1, 2, 3}),
                       doctest::Contains("isclose: shapes [2] and [3] do not broadcast"), shape_error);
}
