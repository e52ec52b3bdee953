// expect: an expression can hold at most 62 tensors: evaluate a part of it into a Tensor first
// SPDX-License-Identifier: BSL-1.0
// A sum of 63 tensors in one expression.
#include <kiln/tensor/tensor.hpp>

using namespace kiln;

using T = Tensor<float>;
auto seven(T a) {
  return a + a + a + a + a + a + a;
}
auto many(T a) {
  return seven(a) + seven(a) + seven(a) + seven(a) + seven(a) + seven(a) + seven(a) + seven(a);  // 56
}

#ifdef EXPECT_ERROR
T sum(T a) {
  return many(a) + seven(a);
}
#else
T sum(T a) {
  return many(a) + T(seven(a));
}
#endif
