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
