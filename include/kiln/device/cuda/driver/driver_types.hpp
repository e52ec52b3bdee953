// SPDX-License-Identifier: BSL-1.0
// The types and constants of the CUDA driver interface that kiln uses, declared here so that no toolkit is needed to
// compile. Values are those of NVIDIA's documented binary interface, the same in CUDA 12 and 13.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::cuda {

/// An address in device memory. Unified addressing makes it a pointer of the host's size.
using device_pointer = std::uint64_t;
/// A device's number in the driver.
using device_number = int;

// Handles are pointers to types that only the driver knows.
struct context_object;
struct stream_object;
struct event_object;
struct module_object;
struct function_object;
struct graph_object;
struct graph_exec_object;
using context_handle = context_object*;
using stream_handle = stream_object*;
using event_handle = event_object*;
using module_handle = module_object*;
using function_handle = function_object*;
using graph_handle = graph_object*;
using graph_exec_handle = graph_exec_object*;

/// What every driver function returns.
enum class driver_result : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  unsupported_ptx_version = 222,
  invalid_handle = 400,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_out_of_resources = 701,
  peer_access_already_enabled = 704,
  assert_failed = 710,
  hardware_stack_error = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_address_space = 717,
  invalid_program_counter = 718,
  launch_failed = 719,
  not_supported = 801,
  system_driver_mismatch = 803,
  stream_capture_unsupported = 900,
  stream_capture_invalidated = 901,
  stream_capture_unjoined = 904,
  invalid_cluster_size = 912,
  unknown = 999
};

enum class device_attribute : int {
  max_threads_per_block = 1,
  max_shared_memory_per_block = 8,
  multiprocessor_count = 16,
  l2_cache_size = 38,
  max_threads_per_multiprocessor = 39,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_block_optin = 97,
  memory_pools_supported = 115
};

enum class function_attribute : int {
  max_threads_per_block = 0,
  shared_size_bytes = 1,
  local_size_bytes = 3,
  registers = 4,
  max_dynamic_shared_size_bytes = 8
};

enum class launch_attribute_kind : int { programmatic_stream_serialization = 6 };
/// A property of a launch (CUlaunchAttribute): here whether the kernel may be launched while the one before it in its
/// stream still runs.
struct launch_attribute {
  launch_attribute_kind kind = launch_attribute_kind::programmatic_stream_serialization;
  int unused = 0;
  int allowed = 1;
  char rest[60] = {};  // the value is a union
};

/// How a driver is told of a launch (CUlaunchConfig).
struct launch_config {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  stream_handle stream = nullptr;
  launch_attribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

enum class pointer_attribute : int { memory_type = 2, device_ordinal = 9 };
enum class memory_type : unsigned { host = 1, device = 2 };

enum class capture_mode : int { global = 0, thread_local_calls = 1, relaxed = 2 };
enum class capture_status : int { none = 0, active = 1, invalidated = 2 };

inline constexpr unsigned stream_non_blocking = 1;   ///< does not wait for the legacy default stream
inline constexpr unsigned event_disable_timing = 2;  ///< cheaper, for order only
inline constexpr unsigned host_memory_portable = 1;  ///< pinned for every device

/// Shared memory that a block may have without permission, declared and dynamic together.
inline constexpr std::size_t most_shared_bytes = 49152;

}  // namespace kiln::cuda
