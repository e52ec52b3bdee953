// SPDX-License-Identifier: BSL-1.0
// New tensors against what their definitions say.
#include <doctest/doctest.h>

#include <algorithm>
#include <dynamic/values.hpp>
#include <kiln/dynamic/creation.hpp>
#include <limits>
#include <numeric>

using namespace kiln::dynamic;
using namespace test;
using kiln::dtype;

TEST_CASE("from memory") {
  const std::int16_t words[] = {1, -2, 3, 4};
  const tensor x = from_host(dtype::int16, {2, 2}, words);
  CHECK(x.type() == dtype::int16);
  CHECK(values(x) == std::vector<double>{1, -2, 3, 4});
  const unsigned char bytes[] = {0, 1, 7};
  const tensor truth = from_host(dtype::boolean, {3}, bytes);
  unsigned char out[3];
  truth.to_host(out);
  CHECK(std::equal(out, out + 3, std::vector<unsigned char>{0, 1, 1}.begin()));
  CHECK(from_host(dtype::float32, {0, 3}, nullptr).numel() == 0);
  CHECK_THROWS_AS(from_host(dtype::float32, {1}, nullptr), kiln::value_error);
  CHECK_THROWS_AS(empty({-1}), kiln::shape_error);
  CHECK_THROWS_AS(empty({1}, dtype::float32, device_kind::cuda), kiln::device_error);
}

TEST_CASE("constants and steps") {
  CHECK(values(zeros({2}, dtype::int8)) == std::vector<double>{0, 0});
  CHECK(values(ones({2}, dtype::boolean)) == std::vector<double>{1, 1});
  CHECK(values(full({2}, 2.5)) == std::vector<double>{2.5, 2.5});
  CHECK(full({1}, std::numeric_limits<std::int64_t>::max()).item_int64() == std::numeric_limits<std::int64_t>::max());
  CHECK_THROWS_AS(full({1}, 300, dtype::uint8), kiln::value_error);
  CHECK_THROWS_AS(full({1}, 0.0 / 0.0, dtype::int64), kiln::value_error);
  CHECK(values(arange(3)) == std::vector<double>{0, 1, 2});
  CHECK(arange(3).type() == dtype::int64);
  CHECK(values(arange(5, 0, -2)) == std::vector<double>{5, 3, 1});
  CHECK(near(values(arange(0.0, 1.0, 0.25)), {0, .25, .5, .75}));
  CHECK_THROWS_AS(arange(0.0, 1.0, 0.0), kiln::value_error);
  CHECK_THROWS_AS(arange(0, 1, 1, dtype::boolean), kiln::dtype_error);
  CHECK(near(values(linspace(0, 1, 3, dtype::float64)), {0, .5, 1}));
  CHECK_THROWS_AS(linspace(0, 1, 3, dtype::int64), kiln::dtype_error);
  CHECK(values(eye(2, 3, dtype::int32)) == std::vector<double>{1, 0, 0, 0, 1, 0});
}

TEST_CASE("random numbers follow from the seed") {
  kiln::generator a(7), b(7);
  const auto first = values(rand({1000}, dtype::float64, a));
  CHECK(first == values(rand({1000}, dtype::float64, b)));
  CHECK(first != values(rand({1000}, dtype::float64, b)));
  CHECK(std::all_of(first.begin(), first.end(), [](double x) { return x >= 0 && x < 1; }));
  const auto normal = values(randn({10000}, dtype::float32, a));
  CHECK(std::abs(std::accumulate(normal.begin(), normal.end(), 0.0) / 10000) < 0.05);
  CHECK_THROWS_AS(rand({1}, dtype::int32), kiln::dtype_error);
  auto order = values(randperm(5, a));
  std::sort(order.begin(), order.end());
  CHECK(order == std::vector<double>{0, 1, 2, 3, 4});
  for (const double x : values(randint(-2, 3, {100}, a))) CHECK((x >= -2 && x < 3));
}
