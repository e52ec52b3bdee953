// expect: the functions of linalg take stacks of matrices themselves: call them on the whole batch, not
// expect: the functions of linalg take float and double: cast<double>() the tensor
// expect: the two sides of equations have one element type: cast<T>() one of them
// SPDX-License-Identifier: BSL-1.0
// Matrices that linear algebra does not take.
#include <kiln/kiln.hpp>
#include <kiln/linalg/lu.hpp>
#include <kiln/transform/vmap.hpp>

using namespace kiln;

void equations(const Tensor<float>& a, const Tensor<int>& i, const Tensor<double>& b) {
#ifdef EXPECT_ERROR
  vmap([](const auto& each) { return linalg::inv(each); })(a);
  linalg::det(i);
  linalg::solve(a, b);
#else
  (void)i, linalg::solve(cast<double>(a), b);
#endif
}
