// expect: kiln: compile without -ffast-math and -ffinite-math-only
// SPDX-License-Identifier: BSL-1.0
// Flags under which a nan is no nan.
#ifdef EXPECT_ERROR
#undef __FINITE_MATH_ONLY__
#define __FINITE_MATH_ONLY__ 1
#endif
#include <kiln/kiln.hpp>
