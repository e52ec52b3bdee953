// expect: only dynamic extents work in this version: leave the third parameter out
// SPDX-License-Identifier: BSL-1.0
// A tensor whose shape is known to the compiler.
#include <kiln/tensor/tensor.hpp>

using namespace kiln;

#ifdef EXPECT_ERROR
using matrix = Tensor<float, Cpu, extents<2, 3>>;
#else
using matrix = Tensor<float>;
#endif

matrix some() {
  return {};
}
