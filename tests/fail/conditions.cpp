// expect: && asks for one truth value on each side, and tensors have many: write logical_and(a, b)
// expect: || asks for one truth value on each side, and tensors have many: write logical_or(a, b), or (a > 0) | (b > 0)
// expect: a tensor or an expression is no condition: write all(a == b).item(), any(...).item(), or equal(a, b)
// SPDX-License-Identifier: BSL-1.0
// Tensors as conditions, as truth values are.
#include <kiln/kiln.hpp>

using namespace kiln;

int conditions(Tensor<float> a, Tensor<float> b) {
#ifdef EXPECT_ERROR
  auto both = a > 0 && b > 0;
  auto one = a > 0 || b > 0;
  if (a == b) return 1;
#else
  auto both = logical_and(a > 0, b > 0);
  auto one = (a > 0) | (b > 0);
  if (equal(a, b)) return 1;
#endif
  return both.dim() + one.dim();
}
