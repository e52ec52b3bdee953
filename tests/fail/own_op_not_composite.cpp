// expect: an op of your own must be composite: set `composite = true`
// SPDX-License-Identifier: BSL-1.0
// An op of the program's own that the library cannot write out.
#include <kiln/tensor/tensor.hpp>

using namespace kiln;

struct twice_op : arithmetic<1> {
  static constexpr std::string_view name = "twice";
#ifndef EXPECT_ERROR
  static constexpr bool composite = true;
#endif
  static constexpr auto value(auto x) {
    return x + x;
  }
};

Tensor<float> twice(Tensor<float> a) {
  return apply<twice_op>(a);
}
