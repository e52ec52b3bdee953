// expect: same_dtype<float, double>
// expect: the expression has another element type than the tensor it goes to: write cast<T>(...) around it
// SPDX-License-Identifier: BSL-1.0
// An expression of float assigned to a tensor of double.
#include <kiln/tensor/tensor.hpp>

using namespace kiln;

#ifdef EXPECT_ERROR
Tensor<double> doubled(Tensor<float> a) {
  return a * 2.0;
}
#else
Tensor<double> doubled(Tensor<float> a) {
  return cast<double>(a * 2.0);
}
#endif
