// expect: an in-place operation cannot store its result's element type here: use a = cast<T>(...) instead
// SPDX-License-Identifier: BSL-1.0
// Half of an integer, in place.
#include <kiln/tensor/tensor.hpp>

using namespace kiln;

#ifdef EXPECT_ERROR
void halve(Tensor<int>& a) {
  a *= 0.5;
}
#else
void halve(Tensor<int>& a) {
  a = cast<int>(a * 0.5);
}
#endif
