// expect: `auto` made this variable that one expression, which cannot become another: declare it as a tensor
// expect: `auto` made this variable an expression, which has no memory to change: declare it as a tensor
// SPDX-License-Identifier: BSL-1.0
// Another expression assigned to a variable of type `auto`, and such a variable changed in place.
#include <kiln/kiln.hpp>

using namespace kiln;

void layers(Tensor<float> a) {
#ifdef EXPECT_ERROR
  auto h = a * a;
#else
  Tensor<float> h = a * a;
#endif
  h = tanh(h);
  h += a;
}
