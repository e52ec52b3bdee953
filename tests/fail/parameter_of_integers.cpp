// expect: kiln: a member Tensor is a parameter, which is learned, so its elements are floating numbers
// SPDX-License-Identifier: BSL-1.0
// A tensor of integers among the parameters of a module.
#include <kiln/nn/module.hpp>

using namespace kiln;

struct Net {
#ifdef EXPECT_ERROR
  Tensor<int> table;
#else
  nn::buffer<Tensor<int>> table;
#endif
};

auto all(const Net& net) {
  return nn::parameters(net);
}
