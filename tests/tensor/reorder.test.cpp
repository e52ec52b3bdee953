// SPDX-License-Identifier: BSL-1.0
// flip and roll by where each element comes from, their gradients by central differences, and what they refuse.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include <kiln/ops/all.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/reorder.hpp>
#include <support/compare.hpp>

using namespace kiln;

namespace {

// Of the same sizes as x, with the element at a position that of x at `source(position)`.
test::naive moved(const test::naive& x, const std::function<test::lengths(test::lengths)>& source) {
  test::naive result(x.shape);
  std::size_t k = 0;
  test::for_each_index(x.shape, [&](const test::lengths& at) { result.values[k++] = x.broadcast_at(source(at)); });
  return result;
}

test::naive flipped(const test::naive& x, const std::vector<int>& axes) {
  return moved(x, [&](test::lengths at) {
    for (const int axis : axes) {
      const auto i = static_cast<std::size_t>(axis);
      at[i] = x.shape[i] - 1 - at[i];
    }
    return at;
  });
}

test::naive rolled(const test::naive& x, std::int64_t by, std::size_t axis) {
  return moved(x, [&](test::lengths at) {
    for (std::int64_t k = 0; k < std::abs(by); ++k)
      at[axis] = by > 0 ? (at[axis] == 0 ? x.shape[axis] - 1 : at[axis] - 1)
                        : (at[axis] == x.shape[axis] - 1 ? 0 : at[axis] + 1);
    return at;
  });
}

Tensor<double> numbers(const dims& sizes) {
  return reshape(arange<double>(1, 1 + count(sizes)), sizes);
}

}  // namespace

TEST_CASE("flip: each element where it belongs") {
  for (const dims& sizes : {dims{5}, dims{3, 4}, dims{2, 3, 70}, dims{2, 1, 3, 2}, dims{0, 3}, dims{1}}) {
    const Tensor<double> x = numbers(sizes);
    const auto n = test::naive::of(x);
    std::vector<int> all;
    for (int axis = 0; axis < sizes.rank(); ++axis) {
      CHECK(test::difference(flip(x, axis), flipped(n, {axis})) == "");
      CHECK(test::difference(flip(x, axis - sizes.rank()), flipped(n, {axis})) == "");
      all.push_back(axis);
    }
    CHECK(test::difference(flip(x), flipped(n, all)) == "");
    CHECK(test::difference(flip(x, all), flipped(n, all)) == "");
    CHECK(test::difference(flip(x, std::vector<int>{}), n) == "");
    CHECK(flip(x).is_contiguous());
  }
  const Tensor<double> x = numbers({4, 6});
  const Tensor<double> part = transpose(x.slice(1, 0, 6, 2), 0, 1);  // with gaps, and turned
  CHECK(test::difference(flip(part, 0), flipped(test::naive::of(part), {0})) == "");
  CHECK(test::difference(flip(flip(part, {0, 1}), 1), flipped(test::naive::of(part), {0})) == "");
  CHECK(test::difference(flip(expand(x.narrow(0, 1, 1), {3, 6}), 1),
                         flipped(test::naive::of(expand(x.narrow(0, 1, 1), {3, 6})), {1})) == "");
  CHECK(flip(x * 2, 0)(0, 1) == 40);
  CHECK(flip(x > 3, 0)(3, 5));
  CHECK(flip(Tensor<double>(7), 0).item() == 7);
  flip(x, std::vector<int>{}).zero_();  // a copy, even of nothing moved
  CHECK(x(0, 0) == 1);
}

TEST_CASE("roll: each element where it belongs") {
  for (const dims& sizes : {dims{5}, dims{3, 4}, dims{2, 3, 5}, dims{0, 3}}) {
    const Tensor<double> x = numbers(sizes);
    const auto n = test::naive::of(x);
    for (const std::int64_t by : {0, 1, -1, 3, 7, -8}) {
      for (int axis = 0; axis < sizes.rank(); ++axis) {
        const auto one = rolled(n, by, static_cast<std::size_t>(axis));
        CHECK(test::difference(roll(x, by, axis), one) == "");
        CHECK(test::difference(roll(x, {2, by}, {0, axis - sizes.rank()}), rolled(one, 2, 0)) == "");
      }
      test::naive line({static_cast<std::int64_t>(n.values.size())});
      line.values = n.values;
      line = rolled(line, by, 0);
      line.shape = n.shape;
      CHECK(test::difference(roll(x, by), line) == "");
    }
  }
  constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  const Tensor<double> x{1, 2, 3, 4};
  CHECK(roll(x, least)(0) == 1);
  CHECK(roll(x, {most, most}, {0, 0})(0) == 3);  // -2 in all, by remainders of 3 and 3
  CHECK(roll(x * 2, 1, 0)(0) == 8);
  CHECK(roll(transpose(numbers({2, 3}), 0, 1), 1, 0)(0, 1) == 6);
  CHECK(roll(Tensor<double>(7), 3).item() == 7);
  CHECK(roll(Tensor<double>(7), 3, 0).item() == 7);
  roll(x, 4).zero_();
  roll(x, dims{}, dims{}).zero_();
  CHECK(x(0) == 1);
}

TEST_CASE("flip, roll: gradients") {
  const Tensor<double> x = numbers({2, 3});
  CHECK(test::gradient_difference([](auto a) { return flip(a, 1) * flip(a); }, x) == "");
  CHECK(test::gradient_difference([](auto a) { return flip(a.t(), 0); }, x) == "");
  CHECK(test::gradient_difference([](auto a) { return roll(a, {1, -1}, {0, 1}) * a; }, x) == "");
  CHECK(test::gradient_difference([](auto a) { return roll(a, 2); }, x) == "");
}

TEST_CASE("flip, roll: what they refuse, by their own names") {
  const auto x = zeros<float>({2, 3});
  CHECK_THROWS_WITH_AS(flip(x, 2), "flip: axis 2 is outside [-2, 1] of a tensor with 2 axes", index_error);
  CHECK_THROWS_WITH_AS(flip(x, {1, -1}), "flip: axis -1 is named twice in [1, -1]", value_error);
  CHECK_THROWS_WITH_AS(roll(x, 1, -3), "roll: axis -3 is outside [-2, 1] of a tensor with 2 axes", index_error);
  CHECK_THROWS_WITH_AS(roll(x, {1, 2}, {0}), "roll: shifts [1, 2] along axes [0]: give one shift per axis",
                       value_error);
}
