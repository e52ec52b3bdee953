// SPDX-License-Identifier: BSL-1.0
// cat and stack: every element of the result is compared with the part it must come from, gradients with the weights
// that those elements got.
#include <kiln/tensor/join.hpp>

#include <doctest/doctest.h>

#include <array>
#include <tuple>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/creation.hpp>

using namespace kiln;

namespace {

template <class T>
bool same(const Tensor<T>& a, const Tensor<T>& b) {
  if (a.sizes() != b.sizes()) return false;
  const Tensor<T> x = a.clone(), y = b.clone();
  return std::equal(x.span().begin(), x.span().end(), y.span().begin());
}

}  // namespace

TEST_CASE_TEMPLATE("cat along each axis puts every element in its place", T, bool, std::uint8_t, std::int64_t, half,
                   float, double) {
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<Tensor<T>> parts;
    for (std::int64_t n : {2, 0, 1, 40}) {
      dims sizes{3, 4, 5};
      sizes[axis] = n;
      auto part = empty<T>(sizes);
      for (std::int64_t i = 0; i < part.numel(); ++i)
        part.data()[i] = static_cast<T>(static_cast<float>((i * 7 + n) % 5));
      parts.push_back(part);
    }
    parts[3] = parts[3].transpose(0, 2).clone().transpose(0, 2);  // any strides will do
    const Tensor<T> joined = cat(parts, axis - 3);
    REQUIRE(joined.sizes()[axis] == 43);
    std::int64_t begin = 0;
    for (const auto& part : parts) {
      for (std::int64_t i = 0; i < part.sizes()[0]; ++i)
        for (std::int64_t j = 0; j < part.sizes()[1]; ++j)
          for (std::int64_t k = 0; k < part.sizes()[2]; ++k) {
            std::array<std::int64_t, 3> at{i, j, k};
            at[static_cast<std::size_t>(axis)] += begin;
            REQUIRE(static_cast<float>(joined(at[0], at[1], at[2])) == static_cast<float>(part(i, j, k)));
          }
      begin += part.sizes()[axis];
    }
  }
}

TEST_CASE("cat hands each part its slice of the gradient") {
  Tensor<float> a{{1, 2}, {3, 4}}, b{{5}, {6}};
  a.requires_grad(), b.requires_grad();
  const Tensor<float> weights{{1, 10, 100, 1000, 10000}, {2, 20, 200, 2000, 20000}};
  backward(sum(cat(std::tuple(a, b * 3, a), 1) * weights));  // columns: a a b a a
  CHECK(same(a.grad(), Tensor<float>{{1001, 10010}, {2002, 20020}}));
  CHECK(same(b.grad(), Tensor<float>{{300}, {600}}));
  backward(sum(cat({a, a}, 0).slice(0, 1, 3)));  // adds to what is there
  CHECK(same(a.grad(), Tensor<float>{{1002, 10011}, {2003, 20021}}));
}

TEST_CASE("gradients of half types go through cat") {
  Tensor<half> a{half(1.0f), half(2.0f)}, b{half(3.0f)};
  a.requires_grad();
  backward(sum(cat({a, b, a}) * Tensor<half>{half(1.0f), half(2.0f), half(4.0f), half(8.0f), half(16.0f)}));
  CHECK(static_cast<float>(a.grad()(0)) == 9);
  CHECK(static_cast<float>(a.grad()(1)) == 18);
}

TEST_CASE("element types of a tuple are promoted as in an expression") {
  Tensor<float> a{1.5f};
  a.requires_grad();
  const Tensor<std::int64_t> b{2};
  const Tensor<double> c{3};
  const auto joined = cat(std::tuple(a, b, c, a * 2));
  static_assert(std::is_same_v<decltype(joined), const Tensor<double>>);
  CHECK(same(joined, Tensor<double>{1.5, 2, 3, 3}));
  backward(sum(joined * Tensor<double>{1, 10, 100, 1000}));
  CHECK(a.grad()(0) == 2001);
  static_assert(std::is_same_v<decltype(cat(std::tuple(b, Tensor<bool>{true}))), Tensor<std::int64_t>>);
  static_assert(std::is_same_v<decltype(stack(std::tuple(b, a))), Tensor<float>>);
}

TEST_CASE("stack makes a new axis anywhere") {
  Tensor<float> a{{1, 2, 3}, {4, 5, 6}}, b{{7, 8, 9}, {10, 11, 12}};
  CHECK(same(stack({a, b}), Tensor<float>{{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}}));
  CHECK(same(stack({a, b}, 1), Tensor<float>{{{1, 2, 3}, {7, 8, 9}}, {{4, 5, 6}, {10, 11, 12}}}));
  CHECK(same(stack(std::array{a, b}, -1), Tensor<float>{{{1, 7}, {2, 8}, {3, 9}}, {{4, 10}, {5, 11}, {6, 12}}}));
  CHECK(stack({Tensor<float>(1.0f), Tensor<float>(2.0f)}).sizes() == dims{2});
  a.requires_grad();
  backward(sum(stack({a, a, b}, 2) * Tensor<float>{1, 10, 100}));
  CHECK(same(a.grad(), Tensor<float>{{11, 11, 11}, {11, 11, 11}}));
}

TEST_CASE("a chain of joins is walked once per part") {
  Tensor<double> x{1, 2, 3};
  x.requires_grad();
  Tensor<double> y = cat({x.slice(0, 0, 2), x});  // 1 2 1 2 3
  y = cat({y, y.slice(0, 3)});                    // 1 2 1 2 3 2 3
  backward(sum(square(y)));
  CHECK(same(x.grad(), Tensor<double>{4, 12, 12}));
}

TEST_CASE("without gradients nothing is recorded") {
  Tensor<float> a{1};
  CHECK_FALSE(cat({a, a}).needs_grad());
  a.requires_grad();
  CHECK(cat({a, a}).needs_grad());
  const no_grad quiet;
  CHECK_FALSE(cat({a, a}).needs_grad());
}

TEST_CASE("parts that do not fit are named") {
  const Tensor<float> a{{1, 2}}, b{{1, 2, 3}};
  CHECK_THROWS_WITH_AS(cat({a, b}),
                       "cat: shapes [1, 2] and [1, 3] do not join along axis 0: all other sizes must be equal (reshape "
                       "or slice them first)",
                       shape_error);
  CHECK_NOTHROW(cat({a, b}, 1));
  CHECK_THROWS_AS(cat({a, Tensor<float>{1, 2}}), shape_error);
  CHECK_THROWS_AS(cat({a, a}, 2), index_error);
  CHECK_THROWS_AS(cat({Tensor<float>(1.0f)}), shape_error);
  CHECK_THROWS_AS(cat(std::vector<Tensor<float>>{}), value_error);
  CHECK_THROWS_AS(stack(std::vector<Tensor<float>>{}), value_error);
  CHECK_THROWS_WITH_AS(
      stack({a, b}), "stack: shapes [1, 2] and [1, 3] differ: all must be equal (or join them with cat)", shape_error);
  CHECK_THROWS_WITH_AS(stack({a, a}, 3), "stack: axis 3 is outside [-3, 2] of a tensor with 3 axes", index_error);
  CHECK_THROWS_WITH_AS(stack(std::vector<Tensor<float>>{}), "stack: no tensors to join: give at least one",
                       value_error);
  const Tensor<float> deep = ones({1, 1, 1, 1, 1, 1, 1, 1});
  CHECK_THROWS_WITH_AS(
      stack({deep, deep}),
      "stack: shape [1, 1, 1, 1, 1, 1, 1, 1] has 8 axes, as many as a tensor can have: reshape to fewer "
      "first",
      shape_error);
}

TEST_CASE("join: a list of tensors and expressions of one element type") {
  Tensor<float> a{1, 2};
  const Tensor<float> b{3, 4};
  a.requires_grad();
  Tensor<float> all = cat({a, a * b, b + 1});
  REQUIRE(all.sizes() == dims{6});
  CHECK(all(3) == 8);
  CHECK(all(5) == 5);
  backward(sum(all));
  CHECK(a.grad()(1) == 5);
  CHECK(stack({a, 2 * a}, 1).sizes() == dims{2, 2});
  CHECK(cat({a > 1, b > 1})(0) == false);
  CHECK(cat({cast<double>(a), Tensor<double>{5}}).dtype() == dtype::float64);
  CHECK(cat({cast<std::int64_t>(a), Tensor<std::int64_t>{5}})(2) == 5);
}

TEST_CASE("cat: a tensor of shape [0] goes with any others and adds nothing") {
  const Tensor<float> none = zeros({0}), some = ones({2, 3});
  for (std::int64_t axis : {0, 1, -1}) {
    CHECK(cat({none, some}, axis).sizes() == dims{2, 3});
    const Tensor<float> y = cat({some, none, some}, axis);
    CHECK(y.numel() == 12);
    for (std::int64_t i = 0; i < 12; ++i) CHECK(y.data()[i] == 1);
  }
  CHECK(cat({none, none}).sizes() == dims{0});
  CHECK(cat({none, Tensor<float>(zeros({0, 3}))}).sizes() == dims{0, 3});
  CHECK_THROWS_AS(cat({some, Tensor<float>(zeros({0, 2}))}), shape_error);
  Tensor<float> x = ones({2, 3});
  x.requires_grad();
  backward(Tensor<float>(sum(cat({none, x}, 1))));
  CHECK(x.grad()(1, 2) == 1);
}
