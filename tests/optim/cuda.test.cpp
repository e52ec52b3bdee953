// SPDX-License-Identifier: BSL-1.0
// Optimizers of Tensor<T, Cuda> over the stand-in, and modules that they train.
#include <kiln/cuda.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include "support/device_modules.hpp"
#include "support/device_optimizers.hpp"

using namespace kiln;

TEST_CASE("cuda: steps of Adam on one buffer are the processor's") {
  emulate::stand_in();
  device_test::check_adam<Cuda>();
}

TEST_CASE("cuda: modules train as the processor's do") {
  emulate::stand_in();
  device_test::check_modules<Cuda>();
}
