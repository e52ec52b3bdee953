// SPDX-License-Identifier: BSL-1.0
// The words by which kernels report a division by zero: looked at once, then clear; the error names the kernel.
#include <kiln/device/cuda/run/fault.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace kiln;

TEST_CASE("fault: a word for each kernel of each device, reported once, by the kernel's name") {
  emulate::stand_in();
  CHECK_NOTHROW(cuda::check_fault({}));
  std::uint32_t* const word = cuda::fault_word({}, "x0 / x1");
  CHECK(cuda::fault_word({}, "x0 / x1") == word);
  std::uint32_t* const other = cuda::fault_word({}, "gather(x0, x1)");
  CHECK(other != word);
  const bool two = !emulate::lacks_second_device();
  if (two) CHECK(cuda::fault_word(Cuda{1}, "x0 / x1") != word);
  *word = 1;
  if (two) CHECK_NOTHROW(cuda::check_fault(Cuda{1}));
  CHECK_THROWS_WITH_AS(cuda::check_fault({}), doctest::Contains("by zero, in x0 / x1, which ran"), value_error);
  CHECK_NOTHROW(cuda::check_fault({}));
  *word = 2;
  CHECK_THROWS_AS(cuda::check_fault({}), index_error);
  *other = 2;
  CHECK_THROWS_WITH_AS(cuda::check_fault({}), doctest::Contains("outside its axis, in gather(x0, x1), which ran"),
                       index_error);
  // Beyond a thousand they share a word.
  for (int i = 0; i < 1100; ++i) CHECK(cuda::fault_word({}, std::to_string(i)) != nullptr);
  *cuda::fault_word({}, "one more") = 1;
  CHECK_THROWS_WITH_AS(cuda::check_fault({}), doctest::Contains("in one of many kernels"), value_error);
  CHECK_NOTHROW(cuda::check_fault({}));
}
