// SPDX-License-Identifier: BSL-1.0
// The device Cuda: its tag with the number of the GPU, whether there is one, and what it can do.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/device/cuda/driver.hpp>

namespace kiln {

/// An NVIDIA GPU, by its number among those that CUDA_VISIBLE_DEVICES shows.
struct Cuda {
  static constexpr const char* name = "cuda";
  int index = 0;
  friend constexpr bool operator==(const Cuda&, const Cuda&) = default;
};

/// How many GPUs can be used: 0 on a machine without one or without a driver. Never throws for what is missing.
inline int cuda_device_count() {
  static const int count = [] {
    const cuda::driver_functions* const api = cuda::find_driver();
    int found = 0;
    return api != nullptr && api->device_get_count(&found) == cuda::driver_result::success ? found : 0;
  }();
  return count;
}

/// True if there is a GPU that can be used. If not, cuda_unavailable_reason() says why.
inline bool cuda_available() {
  return cuda_device_count() > 0;
}

/// Why cuda_available() is false, as a sentence; empty if it is true.
inline std::string cuda_unavailable_reason() {
  if (cuda_available()) return {};
  try {
    cuda::driver();
  } catch (const device_error& caught) {
    return caught.what();
  }
  return "CUDA driver: it shows no device; let CUDA_VISIBLE_DEVICES show one";
}

namespace cuda {

/// What one GPU is and can do.
struct device_properties {
  device_number number = 0;  ///< the driver's
  std::string name;          ///< "NVIDIA H200"
  int architecture = 0;      ///< compute capability: 90 is 9.0
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int shared_bytes_per_block = 0;  ///< most dynamic shared memory of a block, with the opt-in
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
};

namespace detail {

inline int attribute(const driver_functions& api, device_attribute which, device_number number) {
  int value = 0;
  check(api.device_get_attribute(&value, which, number), "cuDeviceGetAttribute");
  return value;
}

inline device_properties read_properties(int index) {
  const driver_functions& api = driver();
  device_properties result;
  check(api.device_get(&result.number, index), "cuDeviceGet");
  std::array<char, 256> name{};
  check(api.device_get_name(name.data(), static_cast<int>(name.size()) - 1, result.number), "cuDeviceGetName");
  result.name = name.data();
  result.architecture = 10 * attribute(api, device_attribute::compute_capability_major, result.number) +
                        attribute(api, device_attribute::compute_capability_minor, result.number);
  result.multiprocessors = attribute(api, device_attribute::multiprocessor_count, result.number);
  result.threads_per_multiprocessor = attribute(api, device_attribute::max_threads_per_multiprocessor, result.number);
  result.shared_bytes_per_block = attribute(api, device_attribute::max_shared_memory_per_block_optin, result.number);
  result.l2_bytes = static_cast<std::size_t>(attribute(api, device_attribute::l2_cache_size, result.number));
  check(api.device_total_memory(&result.memory_bytes, result.number), "cuDeviceTotalMem");
  return result;
}

}  // namespace detail

/// Throws device_error unless there is a device of this number.
inline void check_device(Cuda device) {
  if (device.index >= 0 && device.index < cuda_device_count()) return;
  driver();  // says what is missing, if it is the driver
  throw device_error(message("Cuda{", device.index, "}: there are ", cuda_device_count(),
                             " CUDA devices, numbered from 0; choose one of them"));
}

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
