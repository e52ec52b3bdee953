// expect: a tensor or an expression is no number: its one value is x.item()
// expect: Functions of all elements are kiln's: kiln::exp(x), not std::exp(x)
// expect: What ?: chooses from is evaluated: c ? x.eval() : y.eval()
// expect: a number is no tensor: write a.fill_(3) to set every element
// expect: for x[indices] write index_select(x, 0, indices)
// SPDX-License-Identifier: BSL-1.0
// Tensors where numbers go, and the other way round.
#include <kiln/kiln.hpp>

#include <cmath>

using namespace kiln;

void numbers(bool c, Tensor<float> a, Tensor<double> b, Tensor<std::int64_t> i) {
#ifdef EXPECT_ERROR
  float total = sum(a);
  auto e = std::exp(b);
  auto chosen = c ? a * a : a + a;
  a = 3.0f;
  auto some = a[i];
#else
  float total = sum(a).item();
  auto e = kiln::exp(b);
  auto chosen = c ? (a * a).eval() : (a + a).eval();
  a.fill_(3.0f);
  auto some = index_select(a, 0, i);
#endif
  (void)total, (void)e, (void)chosen, (void)some;
}
