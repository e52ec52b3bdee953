// expect: where the function branches on it, write where(condition, a, b)
// SPDX-License-Identifier: BSL-1.0
// A function within vmap that looks at a number of its member.
#include <kiln/transform/vmap.hpp>

using namespace kiln;

auto halves(const Tensor<float>& all) {
  return vmap([](const auto& x) {
    const auto positive = sum(x) > 0;
#ifdef EXPECT_ERROR
    if (positive.item()) return x * 1;
    return x * 0.5f;
#else
    return where(positive, x, x * 0.5f);
#endif
  })(all);
}
