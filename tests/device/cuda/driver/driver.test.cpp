// SPDX-License-Identifier: BSL-1.0
// The driver through its stand-in: opening it, its faults, and errors made of its results.
#include <kiln/device/cuda/driver/driver.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

namespace {

using kiln::cuda::driver_result;

std::string reason_of_open_driver() {
  try {
    kiln::cuda::open_driver();
  } catch (const kiln::device_error& caught) {
    return caught.what();
  }
  return "opened";
}

}  // namespace

TEST_CASE("the driver opens once, whichever thread asks first") {
  const auto& device = emulate::stand_in();
  std::vector<const kiln::cuda::driver_functions*> seen(4);
  std::vector<std::thread> threads;
  for (auto& place : seen) threads.emplace_back([&place] { place = kiln::cuda::find_driver(); });
  for (auto& thread : threads) thread.join();
  for (const auto* one : seen) CHECK(one == &kiln::cuda::driver());
  if (device.emulated()) CHECK(kiln::cuda::driver().version == 13000);
}

TEST_CASE("a driver that is too old is an error with both versions") {
  if (emulate::skip_on_gpu("it needs another driver")) return;
  const auto& device = emulate::stand_in();
  device.set("version", 11080);
  const std::string words = reason_of_open_driver();
  device.set("version", 13000);
  CHECK(words.find("runs CUDA 11.8 at most, kiln needs 12.0") != words.npos);
  CHECK(words.find("install NVIDIA's driver") != words.npos);
}

TEST_CASE("a driver without a device is an error that says so") {
  if (emulate::skip_on_gpu("it needs another driver")) return;
  const auto& device = emulate::stand_in();
  device.set("devices", 0);
  const std::string words = reason_of_open_driver();
  device.set("devices", 2);
  CHECK(words.find("no CUDA-capable device is detected (100)") != words.npos);
  CHECK(words.find("CUDA_VISIBLE_DEVICES") != words.npos);
  CHECK(reason_of_open_driver() == "opened");
}

TEST_CASE("a driver that is not there is an error that says what to install") {
  if (emulate::skip_on_gpu("it needs another driver")) return;
  emulate::stand_in();
  ::setenv("KILN_LIBCUDA", "/nowhere/libcuda.so.1", 1);
  const std::string words = reason_of_open_driver();
  emulate::stand_in();
  CHECK(words.find("KILN_LIBCUDA names /nowhere/libcuda.so.1") != words.npos);
}

TEST_CASE("a result becomes an error with operation, name and words") {
  emulate::stand_in();
  CHECK_NOTHROW(kiln::cuda::check(driver_result::success, "cuMemFree"));
  CHECK_THROWS_WITH_AS(kiln::cuda::check(driver_result::invalid_value, "cuMemFree"),
                       doctest::Contains("cuMemFree: CUDA_ERROR_INVALID_VALUE (1): invalid argument"),
                       kiln::device_error);
  CHECK_THROWS_WITH_AS(kiln::cuda::check(driver_result::illegal_address, "cuStreamSynchronize"),
                       doctest::Contains("start anew with KILN_SYNC=1"), kiln::device_error);
  // What a kernel did that ends the process's use of the device, by CUDA's numbers.
  for (const int code : {4, 700, 710, 714, 715, 716, 717, 718, 719}) {
    CHECK_THROWS_WITH_AS(kiln::cuda::check(static_cast<driver_result>(code), "cuX"),
                         doctest::Contains("can use the device no longer"), kiln::device_error);
  }
  CHECK_FALSE(kiln::cuda::is_final(driver_result::launch_out_of_resources));
  CHECK_THROWS_WITH_AS(kiln::cuda::check(static_cast<driver_result>(7777), "cuX"), doctest::Contains("(7777)"),
                       kiln::device_error);
}
