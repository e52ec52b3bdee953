// SPDX-License-Identifier: BSL-1.0
// The sessions that PyNorch's article shows at its prompt, with the answers that it shows.
#include <kiln/kiln.hpp>

#include <doctest/doctest.h>

using namespace kiln;

TEST_CASE("the article: strides of a tensor, of its reshape and of its transpose") {
  const Tensor<float> x = reshape(arange<float>(160), {5, 4, 8});
  CHECK(x.strides() == dims{32, 8, 1});
  const Tensor<float> five = x.reshape(4, 5, 2, 2, 2);
  CHECK(five.strides() == dims{40, 8, 4, 2, 1});
  CHECK(five.data() == x.data());

  const Tensor<float> y = reshape(arange<float>(24), {2, 3, 4});
  CHECK(y.strides() == dims{12, 4, 1});
  const Tensor<float> turned = y.transpose(0, 1);
  CHECK(turned.sizes() == dims{3, 2, 4});
  CHECK(turned.strides() == dims{4, 12, 1});
  CHECK(turned.data() == y.data());
}

TEST_CASE("the article: an element is read through the strides") {
  const Tensor<float> x = reshape(arange<float>(24), {2, 3, 4});
  CHECK(x(1, 2, 3) == 23);
  CHECK(x(0, 2, 1) == 9);
  CHECK(x.transpose(0, 1)(2, 0, 1) == 9);
  CHECK(x[{1, 0, 2}].item() == 14);
}

TEST_CASE("the article: contiguous() after a transpose") {
  Tensor<float> x{{1, 2, 3}, {4, 5, 6}};
  CHECK(x.is_contiguous());
  // What lies in order already is not copied.
  CHECK(x.contiguous().data() == x.data());

  x.requires_grad();
  const Tensor<float> turned = x.transpose(0, 1);
  CHECK_FALSE(turned.is_contiguous());
  const Tensor<float> in_order = turned.contiguous();
  CHECK(in_order.is_contiguous());
  CHECK(in_order.strides() == dims{2, 1});
  CHECK(in_order.data() != x.data());
  CHECK(equal(in_order, Tensor<float>{{1, 4}, {2, 5}, {3, 6}}));

  // Gradients find their way back through the copy.
  backward(sum(in_order * Tensor<float>{{1, 2}, {3, 4}, {5, 6}}));
  CHECK(equal(x.grad(), Tensor<float>{{1, 3, 5}, {2, 4, 6}}));
}

TEST_CASE("the article: ((x - y) ** 3).sum() and its gradients") {
  Tensor<float> x{{1, 2, 3}, {1, 2, 3}}, y{{3, 2, 1}, {3, 2, 1}};
  x.requires_grad(), y.requires_grad();
  const Tensor<float> total = sum(pow(x - y, 3));
  backward(total);
  CHECK(total.item() == 0);
  CHECK(equal(x.grad(), Tensor<float>{{12, 0, 12}, {12, 0, 12}}));
  CHECK(equal(y.grad(), Tensor<float>{{-12, 0, -12}, {-12, 0, -12}}));
}
