// expect: the operands live on different devices: move one of them with .to<Device>()
// SPDX-License-Identifier: BSL-1.0
// Tensors of two devices in one expression.
#include <kiln/expr/node.hpp>
#include <kiln/ops/arithmetic.hpp>

using namespace kiln;

struct here {};
struct there {};

template <class Device>
struct tensor_on {
  using operand = void;
  using value_type = float;
  using device_type = Device;
};

#ifdef EXPECT_ERROR
using other = there;
#else
using other = here;
#endif

auto sum(tensor_on<here> a, tensor_on<other> b) {
  return a + b;
}
