// expect: the expression lives on another device: use .to<Device>()
// SPDX-License-Identifier: BSL-1.0
// A tensor of the host given to one of a GPU.
#include <kiln/tensor/cuda.hpp>
#include <kiln/tensor/transfer.hpp>

using namespace kiln;

#ifdef EXPECT_ERROR
Tensor<float, Cuda> moved(const Tensor<float>& x) {
  return x;
}
#else
Tensor<float, Cuda> moved(const Tensor<float>& x) {
  return x.to<Cuda>();
}
#endif
