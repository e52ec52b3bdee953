// SPDX-License-Identifier: BSL-1.0
// What runs as one kernel: the plan of an evaluation, the assumption about repeated leaves, how an expression is split.
#include <doctest/doctest.h>

#include <kiln/autograd/node.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/compute.hpp>
#include <kiln/tensor/products.hpp>

using namespace kiln;

namespace {

template <class E>
bool one_kernel(const E& e) {
  if constexpr (detail::never_fits<E>) {
    return false;
  } else {
    detail::collected<E> c(e);
    detail::evaluation how;
    return detail::plan_evaluation(e, c, how);
  }
}
Tensor<float> filled(const dims& sizes, float value) {
  Tensor<float> t(new_tensor(dtype::float32, sizes));
  t.fill_(value);
  return t;
}

}  // namespace

TEST_CASE("evaluate: one kernel for what shares rows, more for what does not") {
  const auto x = filled({3, 4}, 1), y = filled({3, 4}, 2), square_one = filled({4, 4}, 1), row = filled({4}, 3);
  CHECK(one_kernel(x * y + row));
  CHECK(one_kernel(softmax(x * row)));
  CHECK(one_kernel(x - mean(x, -1, true)));
  CHECK(one_kernel(sum(x * y) / 2.0f));
  CHECK(one_kernel(sum(x, 0) * 2.0f + 1.0f));
  CHECK(one_kernel(x - max(x, 0)));  // lines up with the columns as it is
  const auto c = x - mean(x, -1, true);
  CHECK(one_kernel(c * rsqrt(mean(square(c), -1, true) + 1e-5f) * row));
  CHECK_FALSE(one_kernel(x - mean(y, -1, true)));
  CHECK_FALSE(one_kernel(sum(x, 0) + sum(x, 1, true)));
  CHECK_FALSE(one_kernel(square_one - mean(square_one, -1)));
  CHECK_FALSE(one_kernel(softmax(softmax(x, 0), 1)));
  CHECK_FALSE(one_kernel(mean(mean(x, -1))));
  CHECK_FALSE(one_kernel(row + sum(filled({1, 4}, 1), 0, true) + x));
}

TEST_CASE("evaluate: two handles of the same elements are one leaf, equal tensors are two") {
  const auto x = filled({3, 4}, 1);
  CHECK(one_kernel(x - mean(Tensor<float>(x), -1, true)));
  CHECK(one_kernel(x - mean(x.detach(), -1, true)));
  CHECK_FALSE(one_kernel(x - mean(x.clone(), -1, true)));
  auto w = filled({3, 4}, 1);
  w.requires_grad();
  CHECK_FALSE(one_kernel(w - mean(w.detach(), -1, true)));  // the gradients differ
}

TEST_CASE("evaluate: products are one if their operands are") {
  const auto a = filled({3, 4}, 1), b = filled({4, 5}, 1), other = filled({4, 5}, 2);
  const auto p = matmul(a, b);
  CHECK(one_kernel(p - mean(p, -1, true)));
  CHECK(one_kernel(p - mean(matmul(a, b), -1, true)));
  CHECK_FALSE(one_kernel(p - mean(matmul(a, other), -1, true)));
  const Tensor<float> y = p - mean(matmul(a, other), -1, true);
  CHECK(y(1, 1) == 4 - 8);
}

TEST_CASE("evaluate: shapes of results") {
  const auto x = filled({2, 3, 4}, 1);
  CHECK(Tensor<float>(sum(x, {0, 2})).sizes() == dims{3});
  CHECK(Tensor<float>(sum(x, {0, -1}, true) * 2.0f).sizes() == dims{1, 3, 1});
  CHECK(Tensor<float>(sum(x)).sizes() == dims{});
  CHECK(Tensor<float>(mean(x, 1) + filled({5, 2, 4}, 1)).sizes() == dims{5, 2, 4});
  CHECK(Tensor<float>(softmax(x, {1, 2}) + filled({6, 1, 1, 1}, 1)).sizes() == dims{6, 2, 3, 4});
}

TEST_CASE("evaluate: an expression whose tensor was changed in place after it was written is refused") {
  using doctest::Contains;
  Tensor<float> a{1, 2, 3}, b{4, 5, 6};
  SUBCASE("elementwise") {
    const auto y = b - a * 2.0f;
    a += 10.0f;
    CHECK_THROWS_WITH_AS(Tensor<float>{y}, Contains("tensor 2 of the expression, of shape [3]"), graph_error);
    CHECK_THROWS_WITH_AS(Tensor<float>{y}, Contains(".eval()"), graph_error);
    Tensor<float> z = b - a * 2.0f;  // written after the change
    CHECK(z(0) == -18);
  }
  SUBCASE("within a reduction") {
    const auto y = sum(square(a));
    a.fill_(1);
    CHECK_THROWS_AS(Tensor<float>{y}, graph_error);
  }
  SUBCASE("an operand of a product") {
    const auto y = matmul(a, b) + 1.0f;
    b *= 2.0f;
    CHECK_THROWS_WITH_AS(Tensor<float>{y}, Contains("tensor 2"), graph_error);
  }
  SUBCASE("as the source of a write in place, by itself too") {
    const auto y = a * 2.0f;
    a += y;
    CHECK(a(2) == 9);
    CHECK_THROWS_AS(a += y, graph_error);
    CHECK(a(2) == 9);
  }
  SUBCASE("through another handle") {
    Tensor<float> same = a;
    const auto y = a + b;
    same -= 1.0f;
    CHECK_THROWS_AS(Tensor<float>{y}, graph_error);
  }
  SUBCASE("a gradient that a later pass added to") {
    a.requires_grad();
    CHECK(Tensor<float>(a * b).needs_grad());
    const auto y = a.detach() * 2.0f;
    { a -= 0.5f * b; }
    CHECK_THROWS_AS(Tensor<float>{y}, graph_error);
  }
}

TEST_CASE("evaluate: what is assigned anew or cloned leaves expressions as they were written") {
  Tensor<float> a{1, 2, 3};
  const auto y = a * 2.0f;
  const Tensor<float> handle = a;
  a = a * 100.0f;  // another tensor
  CHECK(Tensor<float>(y)(1) == 4);
  CHECK(Tensor<float>(y)(1) == 4);  // again
  Tensor<float> c = handle.clone();
  c += 1.0f;
  CHECK(Tensor<float>(y)(2) == 6);
  const auto part = handle;  // a handle is none of an expression's: it sees changes
  Tensor<float>(handle) += 1.0f;
  CHECK(part(0) == 2);
  // A handle out of an expression is a plain one.
  Tensor<float> taken = (part * 1.0f).a;
  taken += 1.0f;
  CHECK(Tensor<float>(taken + 0.0f)(0) == 3);
}
