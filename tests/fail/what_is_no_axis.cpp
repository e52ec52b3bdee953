// expect: true or false is no axis. To keep reduced axes, name axes first: sum(x, 1, true), or sum(x, {}, true) for all
// expect: a tensor is no axis: the larger of two tensors is maximum(a, b), the smaller minimum(a, b)
// expect: a number with a fraction is no axis: the larger of an element and a number is maximum(a, 0.5f)
// expect: true or false is no axis. To sort the other way, name the axis first: sort(x, -1, true)
// SPDX-License-Identifier: BSL-1.0
// What stands where an axis should.
#include <kiln/kiln.hpp>

using namespace kiln;

void axis(Tensor<float> a, Tensor<float> b) {
#ifdef EXPECT_ERROR
  auto c = sum(a, true);
  auto d = max(a, b);
  auto f = sort(a, true).values;
  auto e = max(a, 0.5f);
#else
  auto f = sort(a, -1, true).values;
  auto c = sum(a, {}, true);
  auto d = maximum(a, b);
  auto e = maximum(a, 0.5f);
#endif
  (void)c, (void)d, (void)e, (void)f;
}
