// SPDX-License-Identifier: BSL-1.0
// Functions as members, of tensors and of expressions.
#include <doctest/doctest.h>

#include <cmath>

#include <kiln/kiln.hpp>

using namespace kiln;

TEST_CASE("members: reductions") {
  const Tensor<float> x{{1, 2, 3}, {4, 5, 9}};
  CHECK(x.sum().item() == 24);
  CHECK(x.mean().item() == 4);
  CHECK(x.prod(0)(2) == 27);
  CHECK((x * 2).max(1)(1) == 18);
  CHECK(x.min({0, 1}).item() == 1);
  CHECK(x.sum(1, true).shape() == dims{2, 1});
  CHECK((x > 8).any().item());
  CHECK_FALSE((x > 8).all().item());
  CHECK((x > 3).all(1)(1));
  CHECK(x.argmax().item() == 5);
  CHECK((x * 0 + 2).norm().item() == doctest::Approx(std::sqrt(24.0)));
  CHECK((-x).argmax(1)(0) == 0);
  CHECK(x.argmin(0).shape() == dims{3});
}

TEST_CASE("members: functions of elements, chained") {
  const Tensor<double> x{{-1, 2}, {3, -4}};
  CHECK(x.abs().sum().item() == 10);
  CHECK(x.square().sqrt()(1, 1) == 4);
  CHECK(x.exp().log()(0, 1) == doctest::Approx(2));
  CHECK(x.tanh()(0, 0) == doctest::Approx(std::tanh(-1.0)));
  CHECK(x.sigmoid()(0, 0) == doctest::Approx(1 / (1 + std::exp(1.0))));
  CHECK(x.relu().max().item() == 3);
  CHECK(x.pow(2)(1, 1) == 16);
  CHECK(x.clamp(-2, 2).min().item() == -2);
  CHECK(x.softmax(1).sum(1)(0) == doctest::Approx(1));
  CHECK((x + 0).matmul(x)(0, 0) == 7);
  CHECK(x.select(0, 0).dot(x.select(0, 1)).item() == -11);
}
