// SPDX-License-Identifier: BSL-1.0
// What lazy expressions answer as tensors do: sizes without computing, values by computing, views, a backward pass.
#include <doctest/doctest.h>

#include <sstream>
#include <type_traits>

#include <kiln/kiln.hpp>

using namespace kiln;

TEST_CASE("methods: sizes and types are known before anything is computed") {
  const Tensor<float> a{{1, 2, 3}, {4, 5, 6}}, b{10, 20, 30};
  const auto e = a * b;
  CHECK(e.shape() == dims{2, 3});
  CHECK(e.sizes() == dims{2, 3});
  CHECK(e.dim() == 2);
  CHECK(e.size(-1) == 3);
  CHECK(e.size(0) == 2);
  CHECK(e.numel() == 6);
  CHECK((a > 2).dtype() == dtype::boolean);
  CHECK(sum(a, 1).shape() == dims{2});
  CHECK(matmul(a, b).shape() == dims{2});
  CHECK_THROWS_AS(e.size(2), index_error);
  CHECK_THROWS_AS((a * Tensor<float>{1, 2}).shape(), shape_error);
}

TEST_CASE("methods: values") {
  const Tensor<float> a{{1, 2, 3}, {4, 5, 6}}, b{10, 20, 30};
  const auto e = a * b;
  CHECK(e(1, 2) == 180);
  CHECK(e(-1, 0) == 40);
  CHECK(sum(e).item() == 10 + 40 + 90 + 40 + 100 + 180);
  CHECK((a > 2)(0, 2));
  static_assert(std::is_same_v<decltype(sum(e).item<double>()), double>);
  CHECK(sum(e).item<int>() == 460);
  CHECK(sum(e).eval().item<double>() == 460.0);
  CHECK_THROWS_AS(e(2, 0), index_error);
  CHECK_THROWS_AS(e(0), index_error);
  CHECK_THROWS_AS(e.item(), shape_error);
  auto kept = e.eval();
  static_assert(std::is_same_v<decltype(kept), Tensor<float>>);
  kept(0, 0) = 7;
  CHECK(e(0, 0) == 10);
  std::ostringstream text;
  text << sum(a, 0);
  CHECK(text.str() == "tensor([5., 7., 9.])");
}

TEST_CASE("methods: views of what is computed") {
  const Tensor<float> a{{1, 2, 3}, {4, 5, 6}};
  const auto e = a * 2;
  CHECK(e.t()(2, 1) == 12);
  CHECK(e.transpose()(2, 1) == 12);
  CHECK(a.transpose()(2, 1) == 6);
  CHECK(transpose(a)(0, 1) == 4);
  CHECK_THROWS_AS(transpose(a.select(0, 0)), shape_error);
  CHECK_THROWS_AS(transpose(a.unsqueeze(0)), shape_error);
  CHECK(e.transpose(0, 1)(2, 0) == 6);
  CHECK(e.reshape({3, 2})(2, 1) == 12);
  CHECK(e.view({6})(4) == 10);
  CHECK(e.flatten().shape() == dims{6});
  CHECK(e.permute({1, 0}).shape() == dims{3, 2});
  CHECK(e.unsqueeze(0).squeeze().shape() == dims{2, 3});
  CHECK(e.unsqueeze(0).squeeze(0).shape() == dims{2, 3});
  CHECK((a * 2).unsqueeze(1).expand({2, 5, 3})(1, 4, 2) == 12);
  CHECK(e.slice(1, 0, 3, 2)(1, 1) == 12);
  CHECK(e.narrow(1, 1, 2)(0, 1) == 6);
  CHECK(e.select(0, 1)(0) == 8);
  CHECK(e.to(Cpu{})(0, 0) == 2);
}

TEST_CASE("methods: backward() of a loss, lazy or not, and of anything with its gradient") {
  Tensor<float> x{1, 2, 3};
  x.requires_grad();
  sum(square(x)).backward();
  CHECK(x.grad()(2) == 6);
  x.zero_grad();
  const Tensor<float> loss = sum(square(x));
  loss.backward({.retain_graph = true});
  loss.backward();
  CHECK(x.grad()(2) == 12);
  x.zero_grad();
  square(x).backward(Tensor<float>{1, 10, 100});
  CHECK(x.grad()(2) == 600);
  CHECK_FALSE((x * 2).detach().needs_grad());
  CHECK((x * 2).eval().needs_grad());
}

TEST_CASE("methods: a tensor's type follows from what it is made of") {
  const Tensor<float> a{1, 2}, b{3, 4};
  kiln::Tensor product_of_both = a * b;
  static_assert(std::is_same_v<decltype(product_of_both), Tensor<float>>);
  kiln::Tensor where_larger = a > b;
  static_assert(std::is_same_v<decltype(where_larger), Tensor<bool>>);
  kiln::Tensor column = product_of_both.reshape({2, 1});
  static_assert(std::is_same_v<decltype(column), Tensor<float>>);
  kiln::Tensor copy{column};
  static_assert(std::is_same_v<decltype(copy), Tensor<float>>);
  kiln::Tensor numbers{1.5f, 2.5f};
  static_assert(std::is_same_v<decltype(numbers), Tensor<float>>);
  kiln::Tensor rows{{1.5, 2.5}, {3.5, 4.5}};
  static_assert(std::is_same_v<decltype(rows), Tensor<double>>);
  CHECK(rows.shape() == dims{2, 2});
  CHECK(product_of_both(1) == 8);
}
