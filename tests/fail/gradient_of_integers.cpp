// expect: only tensors of a floating type have gradients
// SPDX-License-Identifier: BSL-1.0
// requires_grad() on integers.
#include <kiln/tensor/tensor.hpp>

using namespace kiln;

#ifdef EXPECT_ERROR
using element = int;
#else
using element = float;
#endif

void mark(Tensor<element>& a) {
  a.requires_grad();
}
