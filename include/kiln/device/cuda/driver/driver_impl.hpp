// SPDX-License-Identifier: BSL-1.0
// The definitions of driver.hpp.
#pragma once

#include <kiln/device/cuda/driver/driver.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE void resolve(driver_functions& api) {
  const library& from = api.file;
  from.get(api.init, "cuInit");
  from.get(api.driver_get_version, "cuDriverGetVersion");
  from.get(api.get_error_name, "cuGetErrorName");
  from.get(api.get_error_string, "cuGetErrorString");
  from.get(api.device_get_count, "cuDeviceGetCount");
  from.get(api.device_get, "cuDeviceGet");
  from.get(api.device_get_name, "cuDeviceGetName");
  from.get(api.device_get_attribute, "cuDeviceGetAttribute");
  from.get(api.device_total_memory, "cuDeviceTotalMem_v2");
  from.get(api.device_can_access_peer, "cuDeviceCanAccessPeer");
  from.get(api.primary_context_retain, "cuDevicePrimaryCtxRetain");
  from.get(api.primary_context_release, "cuDevicePrimaryCtxRelease_v2");
  from.get(api.context_get_current, "cuCtxGetCurrent");
  from.get(api.context_set_current, "cuCtxSetCurrent");
  from.get(api.context_synchronize, "cuCtxSynchronize");
  from.get(api.context_enable_peer_access, "cuCtxEnablePeerAccess");
  from.get(api.memory_allocate, "cuMemAlloc_v2");
  from.get(api.memory_free, "cuMemFree_v2");
  from.get(api.host_memory_allocate, "cuMemHostAlloc");
  from.get(api.host_memory_free, "cuMemFreeHost");
  from.get(api.memory_get_info, "cuMemGetInfo_v2");
  from.get(api.pointer_get_attribute, "cuPointerGetAttribute");
  from.get(api.copy_to_device, "cuMemcpyHtoDAsync_v2");
  from.get(api.copy_to_host, "cuMemcpyDtoHAsync_v2");
  from.get(api.copy_on_device, "cuMemcpyDtoDAsync_v2");
  from.get(api.copy_to_peer, "cuMemcpyPeerAsync");
  from.get(api.fill_bytes, "cuMemsetD8Async");
  from.get(api.stream_create, "cuStreamCreateWithPriority");
  from.get(api.stream_destroy, "cuStreamDestroy_v2");
  from.get(api.stream_synchronize, "cuStreamSynchronize");
  from.get(api.stream_query, "cuStreamQuery");
  from.get(api.stream_wait_event, "cuStreamWaitEvent");
  from.get(api.event_create, "cuEventCreate");
  from.get(api.event_destroy, "cuEventDestroy_v2");
  from.get(api.event_record, "cuEventRecord");
  from.get(api.event_query, "cuEventQuery");
  from.get(api.event_synchronize, "cuEventSynchronize");
  from.get(api.event_elapsed_time, "cuEventElapsedTime");
  from.get(api.module_load_data, "cuModuleLoadData");
  from.get(api.module_unload, "cuModuleUnload");
  from.get(api.module_get_function, "cuModuleGetFunction");
  from.get(api.function_get_attribute, "cuFuncGetAttribute");
  from.get(api.function_set_attribute, "cuFuncSetAttribute");
  api.function_get_parameter = reinterpret_cast<decltype(api.function_get_parameter)>(from.find("cuFuncGetParamInfo"));
  from.get(api.blocks_per_multiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  from.get(api.active_clusters, "cuOccupancyMaxActiveClusters");
  from.get(api.launch_kernel, "cuLaunchKernel");
  from.get(api.launch_kernel_with, "cuLaunchKernelEx");
  from.get(api.stream_begin_capture, "cuStreamBeginCapture_v2");
  from.get(api.stream_end_capture, "cuStreamEndCapture");
  from.get(api.stream_is_capturing, "cuStreamIsCapturing");
  from.get(api.graph_instantiate, "cuGraphInstantiateWithFlags");
  from.get(api.graph_launch, "cuGraphLaunch");
  from.get(api.graph_exec_destroy, "cuGraphExecDestroy");
  from.get(api.graph_destroy, "cuGraphDestroy");
}

}  // namespace detail

KILN_INLINE std::unique_ptr<driver_functions> open_driver() {
  auto api = std::make_unique<driver_functions>();
  api->file = open_library(detail::driver_library);
  // The version first, so that a driver that is too old is called that, rather than named by what it lacks.
  api->file.get(api->driver_get_version, "cuDriverGetVersion");
  if (api->driver_get_version(&api->version) == driver_result::success && api->version < detail::oldest_driver) {
    throw device_error(message("CUDA driver: ", api->file.path(), " runs CUDA ", api->version / 1000, '.',
                               api->version % 1000 / 10, " at most, kiln needs 12.0; ",
                               detail::driver_library.install));
  }
  detail::resolve(*api);
  if (const driver_result result = api->init(0); result != driver_result::success) {
    const char* words = nullptr;
    api->get_error_string(result, &words);
    throw device_error(message("CUDA driver: ", api->file.path(), " does not start: ", words ? words : "no reason",
                               " (", static_cast<int>(result), "); ",
                               result == driver_result::no_device
                                   ? "run on a machine with an NVIDIA GPU, or let CUDA_VISIBLE_DEVICES show one"
                                   : "check the driver's installation with nvidia-smi"));
  }
  return api;
}

KILN_INLINE std::string describe(driver_result result) {
  const char *name = nullptr, *words = nullptr;
  if (const driver_functions* api = find_driver()) {
    api->get_error_name(result, &name);
    api->get_error_string(result, &words);
  }
  return message(name ? name : "CUDA error", " (", static_cast<int>(result), "): ", words ? words : "unknown");
}

KILN_INLINE void check(driver_result result, std::string_view operation) {
  if (result == driver_result::success) return;
  if (is_final(result)) {
    throw device_error(
        message(operation, ": ", describe(result), "; a kernel caused it (the last one queued is ",
                detail::last_launched.load(),
                "), and this process can use the device no longer: start anew with KILN_SYNC=1, or under "
                "compute-sanitizer, to find the kernel"));
  }
  throw device_error(
      message(operation, ": ", describe(result), "; check the arguments and the device with nvidia-smi"));
}

}  // namespace kiln::cuda
