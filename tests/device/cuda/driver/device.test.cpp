// SPDX-License-Identifier: BSL-1.0
// The device Cuda over the stand-in, which shows two GPUs.
#include <kiln/device/cuda/driver/device.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

TEST_CASE("devices are counted and described") {
  if (emulate::skip_on_gpu("it knows the stand-in's two devices")) return;
  emulate::stand_in();
  CHECK(kiln::cuda_available());
  CHECK(kiln::cuda_unavailable_reason().empty());
  CHECK(kiln::cuda_device_count() == 2);
  const auto& second = kiln::cuda::properties(kiln::Cuda{1});
  CHECK(second.number == 1);
  CHECK(second.name == "kiln stand-in");
  CHECK(second.architecture == 90);
  CHECK(second.multiprocessors == 4);
  CHECK(second.shared_bytes_per_block == 227 * 1024);
  CHECK(second.memory_bytes == std::size_t{1} << 30);
}

TEST_CASE("a device number out of range is an error with the count") {
  if (emulate::skip_on_gpu("it knows the stand-in's two devices")) return;
  emulate::stand_in();
  for (const int index : {-1, 2}) {
    CHECK_THROWS_WITH_AS(kiln::cuda::properties(kiln::Cuda{index}), doctest::Contains("there are 2 CUDA devices"),
                         kiln::device_error);
  }
}

// The other side, without any driver, is in no_driver/: what is found is found once per process.
