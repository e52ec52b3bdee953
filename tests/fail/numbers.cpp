// expect: a tensor or an expression is no number: its one value is x.item()
// expect: Functions of all elements are kiln's: kiln::exp(x), not std::exp(x)
// expect: What ?: chooses from is evaluated: c ? x.eval() : y.eval()
// expect: a number is no tensor: write a.fill_(3) to set every element
// expect: for x[indices] write index_select(x, 0, indices)
// expect: a vector, an array or a pointer is no operand: write tensor(values) for a tensor of its elements
// expect: a number is no tensor: Tensor<float> x(3) is one of one element, full({2}, 3) one of many
// SPDX-License-Identifier: BSL-1.0
// Tensors where numbers go, and the other way round.
#include <kiln/kiln.hpp>

#include <cmath>
#include <vector>

using namespace kiln;

void numbers(bool c, Tensor<float> a, Tensor<double> b, Tensor<std::int64_t> i, std::vector<float> v) {
#ifdef EXPECT_ERROR
  float total = sum(a);
  auto e = std::exp(b);
  auto chosen = c ? a * a : a + a;
  a = 3.0f;
  auto some = a[i];
  auto scaled = a * v;
  a += v;
  Tensor<float> three = 3;
#else
  float total = sum(a).item();
  auto e = kiln::exp(b);
  auto chosen = c ? (a * a).eval() : (a + a).eval();
  a.fill_(3.0f);
  auto some = index_select(a, 0, i);
  auto scaled = a * tensor(v);
  a += tensor(v);
  Tensor<float> three(3);
#endif
  (void)total, (void)e, (void)chosen, (void)some, (void)scaled;
}
