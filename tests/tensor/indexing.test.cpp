// SPDX-License-Identifier: BSL-1.0
// Elements by index on the processor: values against plain loops, gradients against finite differences, and what is
// said of shapes and indices that do not fit.
#include <doctest/doctest.h>

#include <vector>

#include <kiln/autograd/check_gradient.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/indexing.hpp>

using namespace kiln;

namespace {

using at = Tensor<std::int64_t>;
using list = std::vector<double>;

template <class T>
list values(const Tensor<T>& x) {
  list out;
  const Tensor<T> packed = x.clone();
  for (const T v : packed.span()) out.push_back(static_cast<double>(static_cast<compute_t<T>>(v)));
  return out;
}
bool agrees(const gradient_check& check) {
  if (!check) MESSAGE(check.text);
  return static_cast<bool>(check);
}
const Tensor<float>& grid() {
  static const Tensor<float> x{{0, 1, 2}, {10, 11, 12}, {20, 21, 22}, {30, 31, 32}};
  return x;
}

}  // namespace

TEST_CASE("index_select: slices along either axis, of views and of half types") {
  CHECK(values(index_select(grid(), 0, at{3, 0, 3})) == list{30, 31, 32, 0, 1, 2, 30, 31, 32});
  CHECK(values(index_select(grid(), -1, Tensor<std::int32_t>{2, 0})) == list{2, 0, 12, 10, 22, 20, 32, 30});
  CHECK(values(index_select(grid().t(), 1, at{1, 2})) == list{10, 20, 11, 21, 12, 22});
  CHECK(values(index_select(cast<bfloat16>(grid()), 0, at{2})) == list{20, 21, 22});
  CHECK(index_select(grid(), 0, zeros<std::int64_t>({0})).sizes() == dims{0, 3});
  CHECK(values(index_select(grid() * 2.0f, 0, arange(4).slice(0, 1, 4, 2))) == list{20, 22, 24, 60, 62, 64});
}

TEST_CASE("gather: an index for each position, along every axis") {
  CHECK(values(gather(grid(), 0, at{{1, 0, 3}, {2, 2, 2}})) == list{10, 1, 32, 20, 21, 22});
  CHECK(values(gather(grid(), 1, at{{2, 0}, {1, 1}})) == list{2, 0, 11, 11});
  CHECK(values(gather(Tensor<std::uint8_t>{7, 8, 9}, 0, at{2, 2, 0})) == list{9, 9, 7});
}

TEST_CASE("scatter, scatter_add and index_add: values go where the index says, repeated ones are added up") {
  const Tensor<float> zero = zeros({3, 2}), ones_there = ones({2, 2});
  CHECK(values(scatter(zero, 0, at{{1, 2}, {0, 0}}, Tensor<float>{{1, 2}, {3, 4}})) == list{3, 4, 1, 0, 0, 2});
  CHECK(values(scatter_add(zero, 0, at{{1, 1}, {1, 0}}, Tensor<float>{{1, 2}, {3, 4}})) == list{0, 4, 4, 2, 0, 0});
  CHECK(values(index_add(grid(), 0, at{0, 3, 0}, ones({3, 3}))) == list{2, 3, 4, 10, 11, 12, 20, 21, 22, 31, 32, 33});
  // The values may be longer than the index; the tensor itself stays as it was.
  CHECK(values(scatter_add(zero, 1, at{{1}}, ones({5, 5}))) == list{0, 1, 0, 0, 0, 0});
  CHECK(values(zero) == list(6, 0.0));
  // Many terms for few places, enough for several threads.
  const std::int64_t n = 100000;
  const Tensor<double> sums = index_add(zeros<double>({7}), 0, remainder(arange(n), 7), ones<double>({n}));
  for (int k = 0; k < 7; ++k) CHECK(sums(k) == (n - 1 - k) / 7 + 1);
}

TEST_CASE("gradients go to what was read, and come from where it was written") {
  const auto x = Tensor<double>{{1, 2, 3}, {4, 5, 6}}, v = Tensor<double>{{7, 8, 9}, {10, 11, 12}};
  const at rows{1, 0, 1}, twice{1, 1}, places{{0, 2, 2}, {1, 0, 0}};
  CHECK(agrees(check_gradient([&](const auto& a) { return square(index_select(a, 0, rows)); }, x)));
  CHECK(agrees(check_gradient([&](const auto& a) { return square(gather(a, 1, places)); }, x)));
  CHECK(
      agrees(check_gradient([&](const auto& a, const auto& b) { return square(scatter_add(a, 1, places, b)); }, x, v)));
  CHECK(agrees(check_gradient([&](const auto& a, const auto& b) { return square(index_add(a, 0, twice, b)); }, x, v)));
  // Each place written at most once: what is overwritten gets no gradient.
  const at once{{2, 0, 1}, {1, 2, 0}};
  CHECK(agrees(check_gradient([&](const auto& a, const auto& b) { return square(scatter(a, 1, once, b)); }, x, v)));
  const at one{{2}, {1}};
  CHECK(agrees(check_gradient([&](const auto& a, const auto& b) { return square(scatter(a, 1, one, b)); }, x, v)));
}

TEST_CASE("an index outside its axis is named, and nothing is written") {
  CHECK_THROWS_WITH_AS(index_select(grid(), 0, at{0, 4}), doctest::Contains("index 4 is outside [0, 4)"), index_error);
  CHECK_THROWS_AS(gather(grid(), 1, at{{-1}}), index_error);
  CHECK_THROWS_AS(index_select(zeros({0, 2}), 0, at{0}), index_error);
}

TEST_CASE("shapes that do not go together are named") {
  CHECK_THROWS_WITH_AS(index_select(grid(), 0, at{{1}}), doctest::Contains("1-D"), shape_error);
  CHECK_THROWS_WITH_AS(gather(grid(), 0, at{1}), doctest::Contains("[4, 3]"), shape_error);
  CHECK_THROWS_AS(gather(grid(), 0, at{{0, 0, 0, 0}}), shape_error);
  CHECK_THROWS_AS(scatter_add(grid(), 0, at{{0, 0}, {0, 0}}, ones({1, 2})), shape_error);
  CHECK_THROWS_AS(index_add(grid(), 0, at{0}, ones({2, 3})), shape_error);
  CHECK_THROWS_AS(index_select(grid(), 2, at{0}), index_error);
}

TEST_CASE("sums of half types are made in float and rounded once") {
  auto check = [](auto one) {
    using T = decltype(one);
    const std::int64_t n = 1000;
    const Tensor<std::int64_t> at = zeros<std::int64_t>({n, 2});
    const Tensor<T> ones_of = full<T>({n, 2}, 1);
    const Tensor<T> y = scatter_add(full<T>({3, 2}, 0.5), 0, at, ones_of);
    CHECK(static_cast<float>(y(0, 1)) == static_cast<float>(T(1000.5f)));
    CHECK(static_cast<float>(y(2, 1)) == 0.5f);
    const Tensor<T> z = index_add(full<T>({2, 3}, 0), 1, full<std::int64_t>({n}, 2), full<T>({2, n}, 1));
    CHECK(static_cast<float>(z(1, 2)) == 1000);
    CHECK(static_cast<float>(z(1, 1)) == 0);
    // The gradient of a row that is read many times, twice into one tensor.
    Tensor<T> table = full<T>({4, 2}, 1);
    table.requires_grad();
    for (int pass = 1; pass <= 2; ++pass) {
      backward(Tensor<T>(sum(index_select(table, 0, full<std::int64_t>({n}, 3)) * 0.25)));
      CHECK(static_cast<float>(table.grad()(3, 1)) == 250.0f * static_cast<float>(pass));
      CHECK(static_cast<float>(table.grad()(1, 1)) == 0);
    }
  };
  check(half(0.0f));
  check(bfloat16(0.0f));
}

TEST_CASE("a 0-d tensor goes for one of a single element, and so does a 0-d index") {
  using index = Tensor<std::int64_t>;
  Tensor<float> x(5.0f);
  CHECK(Tensor<float>(gather(x, 0, index(std::int64_t{0}))).dim() == 0);
  CHECK(Tensor<float>(gather(x, 0, index(std::int64_t{0}))).item() == 5);
  const Tensor<float> twice = gather(x, -1, index{0, 0});
  CHECK(twice.sizes() == dims{2});
  CHECK(twice(1) == 5);
  CHECK(Tensor<float>(index_select(x, 0, index{0})).dim() == 0);
  const Tensor<float> one = index_select(Tensor<float>{5.0f, 6.0f}, 0, index(std::int64_t{1}));
  CHECK(one.sizes() == dims{1});
  CHECK(one(0) == 6);
  CHECK(Tensor<float>(scatter_add(x, 0, index{0, 0}, Tensor<float>{2.0f, 3.0f})).item() == 10);
  CHECK(Tensor<float>(scatter(x, 0, index(std::int64_t{0}), Tensor<float>(2.0f))).item() == 2);
  CHECK(Tensor<float>(gather(Tensor<float>{5.0f, 6.0f}, 0, index(std::int64_t{1}))).item() == 6);
  CHECK_THROWS_AS(gather(x, 0, index(std::int64_t{1})), index_error);
  CHECK_THROWS_AS(index_select(x, 0, index{0, 0}), shape_error);
  x.requires_grad();
  backward(Tensor<float>(sum(gather(x, 0, index{0, 0}) * Tensor<float>{2.0f, 3.0f})));
  CHECK(x.grad().item() == 5);
}

TEST_CASE("index_select: positions in a list") {
  const Tensor<float> x{{1, 2}, {3, 4}, {5, 6}};
  CHECK(values(Tensor<float>(index_select(x, 0, {2, 0}))) == list{5, 6, 1, 2});
  CHECK(Tensor<float>(index_select(x * 2, 1, {1, 1, 0})).sizes() == dims{3, 3});
  CHECK_THROWS_AS((void)index_select(x, 0, {3}), index_error);
}

TEST_CASE("scatter: one number to all positions") {
  Tensor<float> x{{1, 2}, {3, 4}};
  x.requires_grad();
  const Tensor<float> y = scatter(x, 1, at{{0}, {1}}, 7);
  CHECK(values(y.detach()) == list{7, 2, 3, 7});
  backward(sum(y));
  CHECK(values(x.grad()) == list{0, 1, 1, 0});
  CHECK_THROWS_AS((void)scatter(Tensor<std::int8_t>{1, 2}, 0, at{0}, 300), value_error);
}
