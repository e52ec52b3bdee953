// SPDX-License-Identifier: BSL-1.0
// The definitions of device.hpp.
#pragma once

#include <kiln/device/cuda/driver/device.hpp>

namespace kiln {

KILN_INLINE int cuda_device_count() {
  if (cuda::detail::lost_by_fork()) return 0;
  static const int count = [] {
    const cuda::driver_functions* const api = cuda::find_driver();
    int found = 0;
    return api != nullptr && api->device_get_count(&found) == cuda::driver_result::success ? found : 0;
  }();
  return count;
}

KILN_INLINE bool cuda_available() {
  return cuda_device_count() > 0;
}

KILN_INLINE std::string cuda_unavailable_reason() {
  if (cuda_available()) return {};
  try {
    cuda::driver();
  } catch (const device_error& caught) {
    return caught.what();
  }
  return "CUDA driver: it shows no device; let CUDA_VISIBLE_DEVICES show one";
}

namespace cuda {

namespace detail {

KILN_INLINE int attribute(const driver_functions& api, device_attribute which, device_number number) {
  int value = 0;
  check(api.device_get_attribute(&value, which, number), "cuDeviceGetAttribute");
  return value;
}

KILN_INLINE device_properties read_properties(int index) {
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
  check(api.device_total_memory(&result.memory_bytes, result.number), "cuDeviceTotalMem");
  return result;
}

}  // namespace detail

KILN_INLINE void check_device(Cuda device) {
  if (device.index >= 0 && device.index < cuda_device_count()) return;
  driver();  // says what is missing, if it is the driver
  throw device_error(message("Cuda{", device.index, "}: there are ", cuda_device_count(),
                             " CUDA devices, numbered from 0; choose one of them"));
}

}  // namespace cuda
}  // namespace kiln
