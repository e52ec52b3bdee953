// expect: matmul needs operands of one element type: cast<T>() one of them
// SPDX-License-Identifier: BSL-1.0
// A product of float and double.
#include <kiln/tensor/products.hpp>

using namespace kiln;

#ifdef EXPECT_ERROR
using element = double;
#else
using element = float;
#endif

auto multiplied(Tensor<float> a, Tensor<element> b) {
  return matmul(a, b);
}
