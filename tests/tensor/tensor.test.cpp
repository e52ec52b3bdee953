// SPDX-License-Identifier: BSL-1.0
// The handle: made from lists, indexed, shared, copied, and what it says when it is used wrongly.
#include <doctest/doctest.h>

#include <kiln/autograd/node.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/tensor.hpp>
#include <kiln/tensor/views.hpp>

using namespace kiln;
using doctest::Contains;

TEST_CASE("tensor: from nested lists of equal lengths") {
  const Tensor<float> a{{1, 2, 3}, {4, 5, 6}};
  CHECK(a.sizes() == dims{2, 3});
  CHECK(a(1, 2) == 6);
  CHECK(a(-1, -3) == 4);
  CHECK(Tensor<int>{1, 2, 3, 4}.numel() == 4);
  CHECK(Tensor<double>{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}.sizes() == dims{2, 2, 2});
  CHECK(Tensor<float>(3.5f).dim() == 0);
  CHECK_THROWS_AS((Tensor<float>{{1, 2}, {3}}), shape_error);
}

TEST_CASE("tensor: of two bools, as a temporary in a generic function") {
  const auto made = [](auto a) { return Tensor<bool>{a > 0, a > 1}.clone(); };  // clang++ 14 took both for sizes
  const auto plain = [](auto) { return Tensor<bool>{true, false}.clone(); };
  CHECK(made(1)(0));
  CHECK_FALSE(made(1)(1));
  CHECK(plain(1).sizes() == dims{2});
}

TEST_CASE("tensor: elements, sizes and values that are not there") {
  const Tensor<float> a{{1, 2, 3}, {4, 5, 6}};
  CHECK_THROWS_WITH_AS(a(2, 0), Contains("index 2 is outside [-2, 1]"), index_error);
  CHECK_THROWS_WITH_AS(a(0, -4), Contains("axis 1"), index_error);
  CHECK_THROWS_WITH_AS(a(0), Contains("one per axis"), index_error);
  CHECK_THROWS_AS(a.size(2), index_error);
  CHECK(a.size(-1) == 3);
  CHECK_THROWS_WITH_AS(a.item(), Contains("6 elements"), shape_error);
  CHECK_THROWS_WITH_AS(a.transpose(0, 1).span(), Contains("clone()"), shape_error);
  CHECK(a.transpose(0, 1).clone().span()[1] == 4);
  const Tensor<float> none;
  CHECK_FALSE(none.defined());
  CHECK_THROWS_WITH_AS(none.sizes(), Contains("no value"), value_error);
  CHECK_THROWS_AS(none.item(), value_error);
  CHECK_THROWS_AS(Tensor<float>(none + 1.0f), value_error);
  CHECK_THROWS_AS(Tensor<float>(a + none), value_error);
}

TEST_CASE("tensor: copies share, clones do not, expressions keep what they need") {
  Tensor<float> a{1, 2, 3};
  const Tensor<float> same = a, copy = a.clone();
  a += 1.0f;
  CHECK(same(0) == 2);
  CHECK(copy(0) == 1);
  auto later = [] {
    const Tensor<float> local{10, 20, 30};
    return local * 2.0f + 1.0f;
  }();
  CHECK(Tensor<float>(later)(2) == 61);
  auto lazy = a * 10.0f;
  a = Tensor<float>{7, 7, 7};
  CHECK(Tensor<float>(lazy)(0) == 20);
}

TEST_CASE("tensor: in-place operators with numbers, tensors and expressions") {
  Tensor<int> n{1, 2, 3};
  n += 2;
  n *= n;
  n -= Tensor<int>{1, 1, 1};
  CHECK(n(0) == 8);
  CHECK(n(2) == 24);
  Tensor<float> x{1, 2, 4};
  x /= x + x;
  CHECK(x(2) == 0.5f);
  x.fill_(3);
  x.copy_(Tensor<double>{1.5, 2.5, 3.5});
  CHECK(x(1) == 2.5f);
  x.copy_(9);
  CHECK(x(1) == 9);
}

TEST_CASE("a tensor of one number: of any number's type, but not of one that its own does not hold") {
  CHECK(Tensor<double>(3).item() == 3);
  CHECK(Tensor<int>(3.0f).item() == 3);
  CHECK_THROWS_AS(Tensor<std::uint8_t>(300), const kiln::value_error&);
  CHECK_THROWS_AS(Tensor<std::uint8_t>(-1), const kiln::value_error&);
  CHECK_THROWS_AS(Tensor<std::int32_t>(1e10), const kiln::value_error&);
}
