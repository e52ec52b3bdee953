// expect: sizes make no tensor by themselves: write zeros<float>({3, 4})
// expect: ({3, 4}) may be sizes or elements: write zeros<float>({3, 4}) for a tensor of these sizes
// expect: sizes make no tensor by themselves: write zeros<float>({3, 4})
// expect: a vector may hold sizes or elements: write tensor(values) for a copy of its elements
// expect: sizes, axes and numbers of elements are whole numbers: write zeros({2, 3})
// expect: sizes, axes and numbers of elements are whole numbers: write zeros({2, 3})
// expect: sizes, axes and numbers of elements are whole numbers: write zeros({2, 3})
// expect: the element type is part of a tensor's type: write zeros<double>({2, 3})
// expect: the element type is part of a tensor's type: write zeros<double>({2, 3})
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
  auto e = zeros<float>(2.5);
  auto f = d.reshape({2.5, 3});
  auto g = linspace(0, 1, 0.1);
  auto h = zeros({2, 3}, dtype::float64);
  auto k = full({2, 3}, 1, dtype::float64);
#else
  Tensor<double> a = zeros<double>({3, 4});
  Tensor<float> b{3, 4};
  Tensor c = zeros({3, 4});
  Tensor<float> d = tensor(values);
  auto e = zeros<float>(2);
  auto f = d.reshape({2, 3});
  auto g = linspace(0, 1, 10);
  auto h = zeros<double>({2, 3});
  auto k = full<double>({2, 3}, 1);
#endif
  (void)e, (void)f, (void)g, (void)h, (void)k;
}
