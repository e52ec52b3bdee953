// expect in 20 lines: check_gradient needs a function that returns double: float is too coarse for finite differences
// SPDX-License-Identifier: BSL-1.0
// check_gradient of a function that computes in float.
#include <kiln/autograd/check_gradient.hpp>

using namespace kiln;

#ifdef EXPECT_ERROR
using element = float;
#else
using element = double;
#endif

bool agrees(Tensor<double> a) {
  return check_gradient([](auto x) { return exp(cast<element>(x)); }, a).agrees;
}
