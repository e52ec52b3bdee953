// expect: this operation is not defined for the element type of its operands: cast<T>() them first
// SPDX-License-Identifier: BSL-1.0
// A bitwise op on floating-point elements.
#include <kiln/expr/node.hpp>
#include <kiln/ops/logical.hpp>

using namespace kiln;

template <class T>
struct tensor_of {
  using operand = void;
  using value_type = T;
  using device_type = void;
};

#ifdef EXPECT_ERROR
using element = float;
#else
using element = int;
#endif

auto both(tensor_of<element> a, tensor_of<element> b) {
  return a & b;
}
