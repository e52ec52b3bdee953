// expect: this operation is not defined for the element type of its operands: cast<T>() them first
// SPDX-License-Identifier: BSL-1.0
// Subtraction of truth values.
#include <kiln/tensor/tensor.hpp>

using namespace kiln;

#ifdef EXPECT_ERROR
using element = bool;
#else
using element = int;
#endif

auto difference(Tensor<element> a, Tensor<element> b) {
  return a - b;
}
