// expect in 30 lines: this device needs its own header (kiln/cuda.hpp for Cuda)
// SPDX-License-Identifier: BSL-1.0
// A tensor on a device that nobody has brought.
#include <kiln/tensor/tensor.hpp>

using namespace kiln;

struct Abacus {};

#ifdef EXPECT_ERROR
using vector = Tensor<float, Abacus>;
#else
using vector = Tensor<float, Cpu>;
#endif

vector some() {
  return {};
}
