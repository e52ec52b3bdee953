// expect: kiln: nn::to makes a module whose type has another device or element type
// SPDX-License-Identifier: BSL-1.0
// A module whose type names no element type, asked for another.
#include <kiln/nn/convert.hpp>

using namespace kiln;

template <class T = float>
struct Any {
  Tensor<T> weight;
};
struct Fixed {
  Tensor<float> weight;
};

#ifdef EXPECT_ERROR
auto wide(const Fixed& net) {
#else
auto wide(const Any<>& net) {
#endif
  return nn::to<double>(net);
}
