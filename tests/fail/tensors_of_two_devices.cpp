// expect: the operands live on different devices: move one of them with .to<Device>()
// SPDX-License-Identifier: BSL-1.0
// One operand on the host, one on a GPU.
#include <kiln/cuda.hpp>

using namespace kiln;

#ifdef EXPECT_ERROR
Tensor<float, Cuda> product(const Tensor<float, Cuda>& a, const Tensor<float>& b) {
  return a * b;
}
#else
Tensor<float, Cuda> product(const Tensor<float, Cuda>& a, const Tensor<float>& b) {
  return a * b.to<Cuda>();
}
#endif
