// expect: the parts of cat({...}) differ in element type: cast<T>() some, or give a tuple, cat(std::tuple(a, b))
// expect: the parts of stack({...}) differ in element type: cast<T>() some, or give a tuple, stack(std::tuple(a, b))
// expect: the tensors stand in braces: cat({a, b}, axis)
// expect: a list of numbers is no tensor yet: write sum(Tensor<float>{1, 2})
// SPDX-License-Identifier: BSL-1.0
// Lists whose parts have several types, or none.
#include <kiln/kiln.hpp>

#include <tuple>

using namespace kiln;

void lists(Tensor<float> a, Tensor<double> b) {
#ifdef EXPECT_ERROR
  auto c = cat({a, b});
  auto d = stack({2 * a, b});
  auto e = cat(a, a);
  auto f = sum({1, 2});
#else
  auto c = cat({cast<double>(a), b});
  auto d = stack(std::tuple(2 * a, b));
  auto e = cat({a, a * a});
  auto f = sum(Tensor{1, 2});
#endif
  (void)c, (void)d, (void)e, (void)f;
}
