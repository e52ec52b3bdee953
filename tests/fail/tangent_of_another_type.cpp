// expect in 40 lines: a tangent has the element type of its argument
// SPDX-License-Identifier: BSL-1.0
// jvp of a tensor of float along one of double.
#include <kiln/transform/jvp.hpp>

using namespace kiln;

#ifdef EXPECT_ERROR
using element = double;
#else
using element = float;
#endif

auto moved(const Tensor<float>& x, const Tensor<element>& dx) {
  return jvp([](const auto& a) { return a * a; }, x, dx).second;
}
