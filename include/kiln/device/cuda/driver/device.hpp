// SPDX-License-Identifier: BSL-1.0
// The device Cuda: its tag with the number of the GPU, whether there is one, and what it can do.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/driver.hpp>

namespace kiln {

/// An NVIDIA GPU, by its number among those that CUDA_VISIBLE_DEVICES shows.
struct Cuda {
  static constexpr const char* name = "cuda";
  int index = 0;
  friend constexpr bool operator==(const Cuda&, const Cuda&) = default;
};

/// How many GPUs can be used: 0 on a machine without one or without a driver. Never throws for what is missing.
int cuda_device_count();

/// True if there is a GPU that can be used. If not, cuda_unavailable_reason() says why.
bool cuda_available();

/// Why cuda_available() is false, as a sentence; empty if it is true.
std::string cuda_unavailable_reason();

namespace cuda {

/// What one GPU is and can do.
struct device_properties {
  device_number number = 0;  ///< the driver's
  std::string name;          ///< "NVIDIA H200"
  int architecture = 0;      ///< compute capability: 90 is 9.0
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int shared_bytes_per_block = 0;  ///< most dynamic shared memory of a block, with the opt-in
  std::size_t memory_bytes = 0;
};

namespace detail {

int attribute(const driver_functions& api, device_attribute which, device_number number);

device_properties read_properties(int index);

}  // namespace detail

/// Throws device_error unless there is a device of this number.
void check_device(Cuda device);

/// The properties of a device, read once. Throws device_error if there is no such device.
inline const device_properties& properties(Cuda device) {
  check_device(device);
  static const std::vector<device_properties>& all = *new std::vector<device_properties>([] {
    std::vector<device_properties> found;
    for (int i = 0; i < cuda_device_count(); ++i) found.push_back(detail::read_properties(i));
    return found;
  }());
  return all[static_cast<std::size_t>(device.index)];
}

}  // namespace cuda
}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/device/cuda/driver/device_impl.hpp>
#endif
