// SPDX-License-Identifier: BSL-1.0
// Optimizers of Tensor<T, Cuda> over the stand-in.
#include <kiln/cuda.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include "support/device_optimizers.hpp"

using namespace kiln;

TEST_CASE("cuda: steps of Adam on one buffer are the processor's") {
  emulate::stand_in();
  device_test::check_adam<Cuda>();
}
