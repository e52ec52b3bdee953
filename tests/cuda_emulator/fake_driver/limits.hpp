// SPDX-License-Identifier: BSL-1.0
// What a device allows a launch, by its architecture, and the code with which its driver refuses the rest.
#pragma once

#include <kiln/device/cuda/driver/driver_types.hpp>

#include <algorithm>
#include <cstddef>

#include "../interface.hpp"

namespace kiln::cuda::stand_in {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t registers_of_a_block = 65536;
/// Shared memory that a kernel may have without permission, declared and dynamic together. Not kiln's own constant.
constexpr std::size_t shared_without_permission = 48 * kibibyte;

/// Limits that differ between architectures. Source: CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability".
struct device_limits {
  std::size_t shared_of_a_block;  ///< with permission, declared and dynamic together
  std::size_t shared_of_a_multiprocessor;
  std::size_t shared_reserved;  ///< by the system, for each block
};

inline device_limits limits_of(long long architecture) {
  switch (architecture) {
    case 75:
      return {64 * kibibyte, 64 * kibibyte, 0};
    case 80:
    case 87:
      return {163 * kibibyte, 164 * kibibyte, kibibyte};
    case 86:
    case 89:
    case 120:
      return {99 * kibibyte, 100 * kibibyte, kibibyte};
    default:
      return {227 * kibibyte, 228 * kibibyte, kibibyte};
  }
}

/// Sizes of a launch, as cuLaunchKernel gets them.
struct launch_request {
  std::size_t grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_shared;
  std::size_t blocks() const { return grid_x * grid_y * grid_z; }
  std::size_t threads() const { return block_x * block_y * block_z; }
};

/// What the driver says to a launch of a kernel that may have `dynamic_limit` bytes of dynamic shared memory, with
/// `registers` a thread.
inline driver_result check_launch(const launch_request& how, const emulator::kernel& kernel, std::size_t dynamic_limit,
                                  std::size_t registers) {
  constexpr std::size_t most_threads = 1024, most_deep = 64, most_along_x = 0x7fffffff, most_along_yz = 65535;
  if (how.blocks() == 0 || how.threads() == 0) return driver_result::invalid_value;
  if (how.grid_x > most_along_x || how.grid_y > most_along_yz || how.grid_z > most_along_yz)
    return driver_result::invalid_value;
  if (how.threads() > most_threads || how.block_z > most_deep) return driver_result::invalid_value;
  if (how.threads() > kernel.most_threads) return driver_result::invalid_value;  // its __launch_bounds__
  if (how.dynamic_shared > dynamic_limit) return driver_result::invalid_value;
  if (how.grid_x % kernel.cluster != 0) return driver_result::invalid_cluster_size;
  if (how.threads() * registers > registers_of_a_block) return driver_result::launch_out_of_resources;
  return driver_result::success;
}

/// How many blocks of a kernel a multiprocessor holds at a time.
inline int resident_blocks(const device_limits& limits, std::size_t threads, std::size_t registers,
                           std::size_t shared) {
  constexpr std::size_t most_blocks = 32, most_resident_threads = 2048;
  const std::size_t taken = std::max<std::size_t>(1, shared + limits.shared_reserved);
  return static_cast<int>(std::min({most_blocks, most_resident_threads / std::max<std::size_t>(1, threads),
                                    registers_of_a_block / std::max<std::size_t>(1, registers * threads),
                                    limits.shared_of_a_multiprocessor / taken}));
}

}  // namespace kiln::cuda::stand_in
