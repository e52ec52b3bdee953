// SPDX-License-Identifier: BSL-1.0
// Derivatives of derivatives, and several results of one kernel, on the device Cuda over the stand-in.
#include <kiln/cuda.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include "support/device_derivatives.hpp"

using namespace kiln;

TEST_CASE("cuda: second derivatives of expressions, row programs and products") {
  emulate::stand_in();
  device_test::check_second_derivatives<Cuda>();
}

TEST_CASE("cuda: several tensors in one kernel, from their old values") {
  emulate::stand_in();
  device_test::check_several_results<Cuda>();
}
