// SPDX-License-Identifier: BSL-1.0
// What a user has with <kiln/cuda.hpp> on a machine without a driver: a program that runs on and can say why.
#include <kiln/cuda.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

TEST_CASE("a program that includes kiln/cuda.hpp runs without a driver, and its errors name what is missing") {
  ::setenv("KILN_LIBCUDA", "/nowhere/libcuda.so.1", 1);
  CHECK_FALSE(kiln::cuda_available());
  CHECK(kiln::cuda_unavailable_reason().find("/nowhere/libcuda.so.1") != std::string::npos);
  CHECK_THROWS_AS(kiln::cuda::new_storage(100), kiln::device_error);
  CHECK_THROWS_AS(kiln::cuda::current_stream(kiln::Cuda{}), kiln::device_error);
  CHECK_THROWS_AS(kiln::cuda::capture([] {}), kiln::device_error);
  CHECK_THROWS_AS(kiln::cuda::new_pinned_storage(100), kiln::device_error);
}
