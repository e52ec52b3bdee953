// expect: sizes make no tensor by themselves: write zeros<float>({3, 4})
// expect: ({3, 4}) may be sizes or elements: write zeros<float>({3, 4}) for a tensor of these sizes
// expect: sizes make no tensor by themselves: write zeros<float>({3, 4})
// expect: a vector may hold sizes or elements: write tensor(values) for a copy of its elements
// SPDX-License-Identifier: BSL-1.0
// Sizes given to a constructor, which takes elements.
#include <kiln/kiln.hpp>

#include <vector>

using namespace kiln;

void make(std::vector<float> values) {
#ifdef EXPECT_ERROR
  Tensor<double> a(3, 4);
  Tensor<float> b({3, 4});
  Tensor c(3, 4);
  Tensor<float> d(values);
#else
  Tensor<double> a = zeros<double>({3, 4});
  Tensor<float> b{3, 4};
  Tensor c = zeros({3, 4});
  Tensor<float> d = tensor(values);
#endif
}
