// expect: kiln: an index has no fraction: static_cast<int>() it
// expect: kiln: x(i, j) is one element, by whole numbers: ranges stand in brackets, x[{0, slice(1, 3)}]
// expect: for positions in a vector write index_select(x, 0, tensor(positions))
// expect: an expression has no elements before it is evaluated: write (a * b).eval()[i]
// expect: an index tensor holds int64 or int32: cast<std::int64_t>() it
// SPDX-License-Identifier: BSL-1.0
// What is no index, or of what there is no element.
#include <kiln/kiln.hpp>

#include <vector>

using namespace kiln;

void elements(Tensor<float> a, Tensor<float> b, std::vector<int> at) {
#ifdef EXPECT_ERROR
  float half = a(0.5);
  auto row = a(0, slice(1, 2));
  auto some = a[at];
  auto h = a * b;
  h[0] = b[0];
  auto chosen = index_select(a, 0, b);
#else
  float half = a(1);
  auto row = a[slice(1, 2)];
  auto some = index_select(a, 0, tensor(at));
  Tensor h = a * b;
  h[0] = b[0];
  auto chosen = index_select(a, 0, {1, 0});
#endif
  (void)half, (void)row, (void)some, (void)chosen;
}
