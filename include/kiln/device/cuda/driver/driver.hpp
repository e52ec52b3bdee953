// SPDX-License-Identifier: BSL-1.0
// The CUDA driver (libcuda), opened at the first use: its functions, and errors made of its results.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/driver_types.hpp>
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/driver/library.hpp>

namespace kiln::cuda {

/// The functions of the driver that kiln calls. Not under the names of cuda.h, which are macros there: a program may
/// include both.
struct driver_functions {
  template <class... Parameters>
  using function = driver_result(Parameters...);

  function<unsigned>* init;
  function<int*>* driver_get_version;
  function<driver_result, const char**>* get_error_name;
  function<driver_result, const char**>* get_error_string;

  function<int*>* device_get_count;
  function<device_number*, int>* device_get;
  function<char*, int, device_number>* device_get_name;
  function<int*, device_attribute, device_number>* device_get_attribute;
  function<std::size_t*, device_number>* device_total_memory;
  function<int*, device_number, device_number>* device_can_access_peer;

  function<context_handle*, device_number>* primary_context_retain;
  function<device_number>* primary_context_release;
  function<context_handle*>* context_get_current;
  function<context_handle>* context_set_current;
  function<>* context_synchronize;
  function<context_handle, unsigned>* context_enable_peer_access;

  function<device_pointer*, std::size_t>* memory_allocate;
  function<device_pointer>* memory_free;
  function<void**, std::size_t, unsigned>* host_memory_allocate;
  function<void*>* host_memory_free;
  function<std::size_t*, std::size_t*>* memory_get_info;
  function<void*, pointer_attribute, device_pointer>* pointer_get_attribute;
  function<device_pointer, const void*, std::size_t, stream_handle>* copy_to_device;
  function<void*, device_pointer, std::size_t, stream_handle>* copy_to_host;
  function<device_pointer, device_pointer, std::size_t, stream_handle>* copy_on_device;
  function<device_pointer, context_handle, device_pointer, context_handle, std::size_t, stream_handle>* copy_to_peer;
  function<device_pointer, unsigned char, std::size_t, stream_handle>* fill_bytes;

  function<stream_handle*, unsigned, int>* stream_create;
  function<stream_handle>* stream_destroy;
  function<stream_handle>* stream_synchronize;
  function<stream_handle>* stream_query;
  function<stream_handle, event_handle, unsigned>* stream_wait_event;
  function<event_handle*, unsigned>* event_create;
  function<event_handle>* event_destroy;
  function<event_handle, stream_handle>* event_record;
  function<event_handle>* event_query;
  function<event_handle>* event_synchronize;
  function<float*, event_handle, event_handle>* event_elapsed_time;

  function<module_handle*, const void*>* module_load_data;
  function<module_handle>* module_unload;
  function<function_handle*, module_handle, const char*>* module_get_function;
  function<int*, function_attribute, function_handle>* function_get_attribute;
  function<function_handle, function_attribute, int>* function_set_attribute;
  /// Of one parameter; null in a driver before CUDA 12.4.
  function<function_handle, std::size_t, std::size_t*, std::size_t*>* function_get_parameter;
  function<int*, function_handle, int, std::size_t>* blocks_per_multiprocessor;
  function<int*, function_handle, const launch_config*>* active_clusters;
  function<function_handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, stream_handle, void**,
           void**>* launch_kernel;
  function<const launch_config*, function_handle, void**, void**>* launch_kernel_with;

  function<stream_handle, capture_mode>* stream_begin_capture;
  function<stream_handle, graph_handle*>* stream_end_capture;
  function<stream_handle, capture_status*>* stream_is_capturing;
  function<graph_exec_handle*, graph_handle, unsigned long long>* graph_instantiate;
  function<graph_exec_handle, stream_handle>* graph_launch;
  function<graph_exec_handle>* graph_exec_destroy;
  function<graph_handle>* graph_destroy;

  library file;     ///< where all of these are from
  int version = 0;  ///< the newest CUDA that the driver can run: 12040 is 12.4
};

namespace detail {

inline constexpr std::array driver_files{"libcuda.so.1"};
inline constexpr library_description driver_library{
    "CUDA driver", "KILN_LIBCUDA", driver_files, {}, "install NVIDIA's driver, version 525 or newer"};
inline constexpr int oldest_driver = 12000;

// The symbols: NVIDIA renames a function when its meaning changes, and the driver keeps the old one under the old name.
void resolve(driver_functions& api);

}  // namespace detail

/// Opens the driver anew and starts it, without regard to what driver() found. Throws device_error: not there, too old,
/// or without a device it could run.
std::unique_ptr<driver_functions> open_driver();

namespace detail {

struct opened_driver {
  std::unique_ptr<driver_functions> functions;  // or null, and why:
  std::string reason;
  opened_driver() {
    int nobody = 0;
    driver_generation.compare_exchange_strong(nobody, kiln::detail::fork_generation.load());
    try {
      functions = open_driver();
    } catch (const device_error& caught) {
      reason = caught.what();
      driver_generation = 0;  // a child has lost nothing
    }
  }
  // Once per process; the driver outlives all static objects, which may still free memory.
  static const opened_driver& instance() {
    static const opened_driver& opened = *new opened_driver;
    return opened;
  }
};

}  // namespace detail

/// The driver, or null if there is none that this process can use.
inline const driver_functions* find_driver() {
  if (detail::lost_by_fork()) return nullptr;  // another thread of the parent may have been about to open it
  return detail::opened_driver::instance().functions.get();
}

/// The driver. Throws device_error that says what is missing and what to install, or that this is a child of a fork
/// whose parent had started CUDA.
inline const driver_functions& driver() {
  detail::refuse_in_child();
  const auto& opened = detail::opened_driver::instance();
  if (opened.functions == nullptr) throw device_error(opened.reason);
  return *opened.functions;
}

/// "CUDA_ERROR_INVALID_VALUE (1): invalid argument".
std::string describe(driver_result result);

/// True for errors after which the driver refuses all further work of this process.
constexpr bool is_final(driver_result result) {
  switch (result) {
    case driver_result::deinitialized:
    case driver_result::illegal_address:
    case driver_result::assert_failed:
    case driver_result::hardware_stack_error:
    case driver_result::illegal_instruction:
    case driver_result::misaligned_address:
    case driver_result::invalid_address_space:
    case driver_result::invalid_program_counter:
    case driver_result::launch_failed:
      return true;
    default:
      return false;
  }
}

namespace detail {
// The name of the kernel that was queued last, for errors that show later; names are never freed.
inline constinit std::atomic<const char*> last_launched{"none"};
}  // namespace detail

/// Throws device_error that names the operation unless `result` is success. Errors of work that was queued earlier show
/// at whatever call comes next, which the text says.
void check(driver_result result, std::string_view operation);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/driver/driver_impl.hpp>
#endif
