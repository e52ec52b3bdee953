// expect: the pullback needs one cotangent for each result of the function
// SPDX-License-Identifier: BSL-1.0
// A function with two results, whose pullback is called with one gradient.
#include <kiln/transform/vjp.hpp>

using namespace kiln;

auto pulled(const Tensor<float>& x) {
  const auto pullback = vjp([](const auto& a) { return std::tuple{a * 2, sum(a)}; }, x).second;
#ifdef EXPECT_ERROR
  return pullback(x);
#else
  return pullback(x, Tensor<float>(1.0f));
#endif
}
