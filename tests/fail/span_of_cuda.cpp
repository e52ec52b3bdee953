// expect: span() reads the host's memory: move the tensor there with .to<Cpu>()
// SPDX-License-Identifier: BSL-1.0
// The host cannot walk over the memory of a GPU.
#include <kiln/tensor/cuda.hpp>
#include <kiln/tensor/transfer.hpp>

using namespace kiln;

#ifdef EXPECT_ERROR
float first(const Tensor<float, Cuda>& x) {
  return x.span()[0];
}
#else
float first(const Tensor<float, Cuda>& x) {
  return x.to<Cpu>().span()[0];
}
#endif
