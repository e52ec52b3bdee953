// SPDX-License-Identifier: BSL-1.0
// A program on a machine without a driver, in a process of its own, as the driver is looked for once.
#include <kiln/device/cuda/compile/nvrtc.hpp>
#include <kiln/device/cuda/driver/device.hpp>

#include <doctest/doctest.h>

#include <cstdlib>

TEST_CASE("without a driver a program runs on, and is told why there is no device") {
  ::setenv("KILN_LIBCUDA", "/nowhere/libcuda.so.1", 1);
  CHECK_FALSE(kiln::cuda_available());
  CHECK(kiln::cuda_device_count() == 0);
  CHECK(kiln::cuda::find_driver() == nullptr);
  CHECK(kiln::cuda_unavailable_reason().find("KILN_LIBCUDA names /nowhere/libcuda.so.1") != std::string::npos);
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_AS(kiln::cuda::driver(), kiln::device_error);
    CHECK_THROWS_WITH_AS(kiln::cuda::properties(kiln::Cuda{}), doctest::Contains("/nowhere"), kiln::device_error);
  }
  CHECK_THROWS_WITH_AS(kiln::cuda::check(kiln::cuda::driver_result::invalid_value, "cuX"), doctest::Contains("cuX"),
                       kiln::device_error);
}
