// SPDX-License-Identifier: BSL-1.0
// The word by which kernels report a division by zero: looked at once, then clear.
#include <kiln/device/cuda/run/fault.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

using namespace kiln;

TEST_CASE("fault: one word for each device, reported once") {
  emulate::stand_in();
  CHECK_NOTHROW(cuda::check_fault({}));
  std::uint32_t* const word = cuda::fault_word({});
  CHECK(cuda::fault_word({}) == word);
  const bool two = !emulate::lacks_second_device();
  if (two) CHECK(cuda::fault_word(Cuda{1}) != word);
  *word = 1;
  if (two) CHECK_NOTHROW(cuda::check_fault(Cuda{1}));
  CHECK_THROWS_WITH_AS(cuda::check_fault({}), doctest::Contains("by zero"), value_error);
  CHECK_NOTHROW(cuda::check_fault({}));
  *word = 2;
  CHECK_THROWS_AS(cuda::check_fault({}), index_error);
}
