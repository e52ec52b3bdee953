// expect in 40 lines: where(condition, a, b)
// SPDX-License-Identifier: BSL-1.0
// A function of plain numbers that asks for the value of one while it is being differentiated.
#include <kiln/transform/gradient.hpp>

double slope(double at) {
  return kiln::grad([](auto x) {
#ifdef EXPECT_ERROR
    return x > 0 ? x * x : x * 2;
#else
    return kiln::where(x > 0, x * x, x * 2);
#endif
  })(at);
}
