// SPDX-License-Identifier: BSL-1.0
// Functions of images, on images small enough to do by hand.
#include <doctest/doctest.h>

#include <dynamic/values.hpp>
#include <kiln/dynamic/images.hpp>

using namespace kiln::dynamic;
using namespace test;
using kiln::dtype;

TEST_CASE("convolution and poolings") {
  tensor x = made({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}), w = made({1, 1, 2, 2}, {1, 0, 0, 1});
  w.requires_grad_();
  const tensor y = conv2d(x, w, made({1}, {100}));
  CHECK(values(y) == std::vector<double>{106, 108});
  reduce("sum", y).backward();
  CHECK(near(values(w.grad()), {3, 5, 9, 11}));
  CHECK(values(max_pool2d(x, {2, 2}, {.stride = 1})) == std::vector<double>{5, 6});
  CHECK(values(avg_pool2d(x, {2, 2}, {.stride = 1})) == std::vector<double>{3, 4});
  CHECK_THROWS_AS(conv2d(x, made({1, 1, 2, 2}, {1, 0, 0, 1}, dtype::float64)), kiln::dtype_error);
  CHECK_THROWS_AS(conv2d(made({1, 1, 1, 1}, {1}, dtype::int32), w), kiln::dtype_error);
}

TEST_CASE("batch norm and dropout") {
  const tensor x = made({2, 1}, {1, 3});
  const tensor mean = made({1}, {0}), variance = made({1}, {1});
  CHECK(near(values(batch_norm(x, mean, variance, {}, {}, {.training = true, .momentum = 0.5, .eps = 0})), {-1, 1}));
  CHECK(near(values(mean), {1}));
  CHECK(near(values(variance), {1.5}));
  CHECK(near(values(batch_norm(x, mean, variance, made({1}, {2}), made({1}, {1}), {.eps = 0})),
             {1, 1 + 4 / std::sqrt(1.5)}));
  const tensor ones = made({1000}, std::vector<double>(1000, 1));
  double sum = 0;
  for (const double v : values(dropout(ones, 0.5))) {
    CHECK((v == 0 || v == 2));
    sum += v;
  }
  CHECK(std::abs(sum - 1000) < 200);
  CHECK(values(dropout(ones, 0.5, false)) == values(ones));
  CHECK_THROWS_AS(dropout(ones, 2), kiln::value_error);
}
