// SPDX-License-Identifier: BSL-1.0
// repeat, tile and repeat_interleave by where each element comes from, their gradients, and what they refuse.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include <kiln/ops/all.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/repeat.hpp>
#include <support/compare.hpp>

using namespace kiln;

namespace {

Tensor<double> numbers(const dims& sizes) {
  return reshape(arange<double>(1, 1 + count(sizes)), sizes);
}

test::naive repeated(test::naive x, const dims& counts) {
  while (x.shape.size() < static_cast<std::size_t>(counts.rank())) x.shape.insert(x.shape.begin(), 1);
  test::naive result(x.shape);
  for (std::size_t i = 0; i < x.shape.size(); ++i) result.shape[i] *= counts[static_cast<int>(i)];
  result.values.clear();
  test::for_each_index(result.shape, [&](test::lengths at) {
    for (std::size_t i = 0; i < at.size(); ++i) at[i] %= x.shape[i];
    result.values.push_back(x.broadcast_at(at));
  });
  return result;
}

test::naive interleaved(const test::naive& x, std::int64_t times, std::size_t axis) {
  test::naive result(x.shape);
  result.shape[axis] *= times;
  result.values.clear();
  test::for_each_index(result.shape, [&](test::lengths at) {
    at[axis] /= times;
    result.values.push_back(x.broadcast_at(at));
  });
  return result;
}

}  // namespace

TEST_CASE("repeat, tile: each element where it belongs") {
  struct example {
    dims sizes, counts;
  };
  const dims twos = dims::filled(8, 2);
  for (const auto& [sizes, counts] :
       {example{{3}, {2}}, example{{3}, {2, 4}}, example{{2, 3}, {1, 1}}, example{{2, 3}, {3, 2}},
        example{{2, 1, 3}, {2, 5, 1}}, example{{2, 3}, {0, 2}}, example{{0, 3}, {2, 2}}, example{{}, {}},
        example{{}, {3}}, example{{2, 3}, {2, 1, 2, 2}}, example{twos, {2, 1, 1, 3, 1, 1, 2, 1}},
        example{{2, 2, 2, 2, 2, 2}, {2, 2, 2, 2, 2, 2}}}) {
    const Tensor<double> x = numbers(sizes);
    const auto want = repeated(test::naive::of(x), counts);
    CHECK(test::difference(repeat(x, counts), want) == "");
    CHECK(test::difference(tile(x, counts), want) == "");
    CHECK(repeat(x, counts).is_contiguous());
  }
  const Tensor<double> x = numbers({2, 3});
  CHECK(test::difference(tile(x, 2), repeated(test::naive::of(x), {1, 2})) == "");
  CHECK(test::difference(tile(x, dims{}), test::naive::of(x)) == "");
  CHECK(test::difference(repeat(x.t(), 2, 3), repeated(test::naive::of(x.t()), {2, 3})) == "");
  CHECK(test::difference(repeat(x.slice(1, 0, 3, 2) * 3, {2, 1, 2}),
                         repeated(test::naive::of(Tensor<double>(x.slice(1, 0, 3, 2) * 3)), {2, 1, 2})) == "");
  const std::int64_t huge = std::int64_t{1} << 40;  // beside an axis of nothing
  CHECK(repeat(empty<double>({0, huge}), {huge, 2}).sizes() == dims{0, 2 * huge});
  repeat(x, {1, 1}).zero_();
  CHECK(x(0, 0) == 1);
}

TEST_CASE("repeat_interleave: each element where it belongs") {
  for (const dims& sizes : {dims{4}, dims{2, 3}, dims{3, 1, 2}, dims{0, 2}}) {
    const Tensor<double> x = numbers(sizes);
    const auto n = test::naive::of(x);
    for (const int times : {0, 1, 3}) {
      for (int axis = 0; axis < sizes.rank(); ++axis)
        CHECK(test::difference(repeat_interleave(x, times, axis - sizes.rank()),
                               interleaved(n, times, static_cast<std::size_t>(axis))) == "");
      test::naive line({static_cast<std::int64_t>(n.values.size())});
      line.values = n.values;
      CHECK(test::difference(repeat_interleave(x, times), interleaved(line, times, 0)) == "");
    }
  }
  const Tensor<double> x = numbers({3, 2});
  CHECK(test::difference(repeat_interleave(x.t(), 2, 0), interleaved(test::naive::of(x.t()), 2, 0)) == "");
  CHECK(repeat_interleave(Tensor<double>(7), 2, 0).sizes() == dims{2});
  const Tensor<double> y = repeat_interleave(x, Tensor<int>{2, 0, 1}, 0);
  CHECK(y.sizes() == dims{3, 2});
  CHECK((y(0, 1) == 2 && y(1, 1) == 2 && y(2, 1) == 6));
  CHECK(repeat_interleave(x, Tensor<std::int64_t>{0, 0}, 1).sizes() == dims{3, 0});
  repeat_interleave(x, 1, 0).zero_();
  CHECK(x(0, 0) == 1);
}

TEST_CASE("repeat, tile, repeat_interleave: gradients") {
  const Tensor<double> x = numbers({2, 3}), deep = numbers({2, 1, 2, 1, 2, 1, 1});
  CHECK(test::gradient_difference([](auto a) { return repeat(a, {2, 2, 3}); }, x) == "");
  CHECK(test::gradient_difference([](auto a) { return tile(a, {2, 1, 2, 1, 3, 1, 1}); }, deep) == "");
  CHECK(test::gradient_difference([](auto a) { return repeat_interleave(a.t(), 3, 1); }, x) == "");
  const Tensor<int> times{1, 0, 2};
  CHECK(test::gradient_difference([&](auto a) { return repeat_interleave(a, times, 1); }, x) == "");
  Tensor<double> all{1, 2};
  all.requires_grad();
  backward(repeat(all, 0), zeros<double>({0}));
  CHECK((all.grad()(0) == 0 && all.grad()(1) == 0));
}

TEST_CASE("repeat, tile, repeat_interleave: what they refuse, by their own names") {
  const auto x = zeros<float>({2, 3});
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK_THROWS_WITH_AS(repeat(x, 2),
                       "repeat: 1 counts for a tensor of shape [2, 3]: give one per axis, or use tile, where those of "
                       "the first axes may be left out",
                       shape_error);
  CHECK_THROWS_WITH_AS(repeat(x, -1, 2), "repeat: -1 times: use 0 or more", value_error);
  CHECK_THROWS_WITH_AS(tile(x, -1), "tile: -1 times: use 0 or more", value_error);
  CHECK_THROWS_WITH_AS(repeat(x, huge, huge),
                       "repeat: shape [2, 3], [1099511627776, 1099511627776] times, has more elements than memory can "
                       "hold: repeat it less often",
                       shape_error);
  CHECK_THROWS_AS(tile(x, std::int64_t{1} << 62), shape_error);
  CHECK_THROWS_WITH_AS(repeat_interleave(x, -2, 0), "repeat_interleave: -2 times: use 0 or more", value_error);
  CHECK_THROWS_AS(repeat_interleave(x, huge * (1 << 20), 0), shape_error);
  CHECK_THROWS_WITH_AS(repeat_interleave(x, 2, 2),
                       "repeat_interleave: axis 2 is outside [-2, 1] of a tensor with 2 axes", index_error);
  CHECK_THROWS_WITH_AS(repeat_interleave(x, Tensor<int>{1, 1}, 1),
                       "repeat_interleave: numbers of shape [2] for axis 1 of shape [2, 3]: give one for each of its "
                       "slices",
                       shape_error);
  CHECK_THROWS_AS(repeat_interleave(x, Tensor<int>{1, -1}, 0), value_error);
}
