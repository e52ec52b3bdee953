// SPDX-License-Identifier: BSL-1.0
// Our declarations of the driver and of NVRTC against NVIDIA's own headers, where a toolkit is installed: every
// function must take parameters of the same number and sizes, every constant must have the same value.
#include <kiln/device/cuda/compile/nvrtc.hpp>
#include <kiln/device/cuda/driver/driver.hpp>

#include <doctest/doctest.h>

#if __has_include("/usr/local/cuda/include/cuda.h")
#include "/usr/local/cuda/include/cuda.h"
#include "/usr/local/cuda/include/nvrtc.h"
#define HAS_TOOLKIT 1
#else
#define HAS_TOOLKIT 0
#endif

#if HAS_TOOLKIT
namespace {

// Same binary form: as many parameters, each as large, pointers where pointers are (device addresses are integers).
template <class Ours, class Theirs>
constexpr bool same_form = false;
template <class A, class... As, class B, class... Bs>
constexpr bool same_form<A(As...), B(Bs...)> = [] {
  if constexpr (sizeof...(As) != sizeof...(Bs))
    return false;
  else
    return ((sizeof(As) == sizeof(Bs) && std::is_pointer_v<As> == std::is_pointer_v<Bs>)&&...) &&
           sizeof(A) == sizeof(B);
}();
template <class Ours, class Theirs>
constexpr bool same(Ours*, Theirs*) {
  return same_form<Ours, Theirs>;
}

}  // namespace

TEST_CASE("every declared function of the driver has the form of the toolkit's") {
  const kiln::cuda::driver_functions f{};
  CHECK(same(f.init, &::cuInit));
  CHECK(same(f.driver_get_version, &::cuDriverGetVersion));
  CHECK(same(f.get_error_name, &::cuGetErrorName));
  CHECK(same(f.get_error_string, &::cuGetErrorString));
  CHECK(same(f.device_get_count, &::cuDeviceGetCount));
  CHECK(same(f.device_get, &::cuDeviceGet));
  CHECK(same(f.device_get_name, &::cuDeviceGetName));
  CHECK(same(f.device_get_attribute, &::cuDeviceGetAttribute));
  CHECK(same(f.device_total_memory, &::cuDeviceTotalMem));
  CHECK(same(f.device_can_access_peer, &::cuDeviceCanAccessPeer));
  CHECK(same(f.primary_context_retain, &::cuDevicePrimaryCtxRetain));
  CHECK(same(f.primary_context_release, &::cuDevicePrimaryCtxRelease));
  CHECK(same(f.context_get_current, &::cuCtxGetCurrent));
  CHECK(same(f.context_set_current, &::cuCtxSetCurrent));
  CHECK(same(f.context_synchronize, static_cast<CUresult (*)()>(&::cuCtxSynchronize)));
  CHECK(same(f.context_enable_peer_access, &::cuCtxEnablePeerAccess));
  CHECK(same(f.memory_allocate, &::cuMemAlloc));
  CHECK(same(f.memory_free, &::cuMemFree));
  CHECK(same(f.host_memory_allocate, &::cuMemHostAlloc));
  CHECK(same(f.host_memory_free, &::cuMemFreeHost));
  CHECK(same(f.memory_get_info, &::cuMemGetInfo));
  CHECK(same(f.pointer_get_attribute, &::cuPointerGetAttribute));
  CHECK(same(f.copy_to_device, &::cuMemcpyHtoDAsync));
  CHECK(same(f.copy_to_host, &::cuMemcpyDtoHAsync));
  CHECK(same(f.copy_on_device, &::cuMemcpyDtoDAsync));
  CHECK(same(f.copy_to_peer, &::cuMemcpyPeerAsync));
  CHECK(same(f.fill_bytes, &::cuMemsetD8Async));
  CHECK(same(f.stream_create, &::cuStreamCreateWithPriority));
  CHECK(same(f.stream_destroy, &::cuStreamDestroy));
  CHECK(same(f.stream_synchronize, &::cuStreamSynchronize));
  CHECK(same(f.stream_query, &::cuStreamQuery));
  CHECK(same(f.stream_wait_event, &::cuStreamWaitEvent));
  CHECK(same(f.event_create, &::cuEventCreate));
  CHECK(same(f.event_destroy, &::cuEventDestroy));
  CHECK(same(f.event_record, &::cuEventRecord));
  CHECK(same(f.event_query, &::cuEventQuery));
  CHECK(same(f.event_synchronize, &::cuEventSynchronize));
  CHECK(same(f.event_elapsed_time, &::cuEventElapsedTime));
  CHECK(same(f.module_load_data, &::cuModuleLoadData));
  CHECK(same(f.module_unload, &::cuModuleUnload));
  CHECK(same(f.module_get_function, &::cuModuleGetFunction));
  CHECK(same(f.function_get_attribute, &::cuFuncGetAttribute));
  CHECK(same(f.function_set_attribute, &::cuFuncSetAttribute));
  CHECK(same(f.blocks_per_multiprocessor, &::cuOccupancyMaxActiveBlocksPerMultiprocessor));
  CHECK(same(f.launch_kernel, &::cuLaunchKernel));
  CHECK(same(f.stream_begin_capture, &::cuStreamBeginCapture));
  CHECK(same(f.stream_end_capture, &::cuStreamEndCapture));
  CHECK(same(f.stream_is_capturing, &::cuStreamIsCapturing));
  CHECK(same(f.graph_instantiate, &::cuGraphInstantiate));
  CHECK(same(f.graph_launch, &::cuGraphLaunch));
  CHECK(same(f.graph_exec_destroy, &::cuGraphExecDestroy));
  CHECK(same(f.graph_destroy, &::cuGraphDestroy));
}

TEST_CASE("every declared function of NVRTC has the form of the toolkit's") {
  const kiln::cuda::nvrtc_functions f{};
  CHECK(same(f.get_error_string, &::nvrtcGetErrorString));
  CHECK(same(f.version, &::nvrtcVersion));
  CHECK(same(f.get_num_supported_archs, &::nvrtcGetNumSupportedArchs));
  CHECK(same(f.get_supported_archs, &::nvrtcGetSupportedArchs));
  CHECK(same(f.create_program, &::nvrtcCreateProgram));
  CHECK(same(f.destroy_program, &::nvrtcDestroyProgram));
  CHECK(same(f.compile_program, &::nvrtcCompileProgram));
  CHECK(same(f.get_program_log_size, &::nvrtcGetProgramLogSize));
  CHECK(same(f.get_program_log, &::nvrtcGetProgramLog));
  CHECK(same(f.get_ptx_size, &::nvrtcGetPTXSize));
  CHECK(same(f.get_ptx, &::nvrtcGetPTX));
  CHECK(same(f.get_cubin_size, &::nvrtcGetCUBINSize));
  CHECK(same(f.get_cubin, &::nvrtcGetCUBIN));
}

TEST_CASE("every declared constant has the toolkit's value") {
  using namespace kiln::cuda;
  const auto equal = [](auto ours, auto theirs) { return static_cast<int>(ours) == static_cast<int>(theirs); };
  CHECK(equal(driver_result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY));
  CHECK(equal(driver_result::not_initialized, CUDA_ERROR_NOT_INITIALIZED));
  CHECK(equal(driver_result::deinitialized, CUDA_ERROR_DEINITIALIZED));
  CHECK(equal(driver_result::no_device, CUDA_ERROR_NO_DEVICE));
  CHECK(equal(driver_result::invalid_device, CUDA_ERROR_INVALID_DEVICE));
  CHECK(equal(driver_result::invalid_image, CUDA_ERROR_INVALID_IMAGE));
  CHECK(equal(driver_result::invalid_context, CUDA_ERROR_INVALID_CONTEXT));
  CHECK(equal(driver_result::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU));
  CHECK(equal(driver_result::unsupported_ptx_version, CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
  CHECK(equal(driver_result::invalid_handle, CUDA_ERROR_INVALID_HANDLE));
  CHECK(equal(driver_result::not_found, CUDA_ERROR_NOT_FOUND));
  CHECK(equal(driver_result::not_ready, CUDA_ERROR_NOT_READY));
  CHECK(equal(driver_result::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS));
  CHECK(equal(driver_result::launch_out_of_resources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
  CHECK(equal(driver_result::peer_access_already_enabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED));
  CHECK(equal(driver_result::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS));
  CHECK(equal(driver_result::launch_failed, CUDA_ERROR_LAUNCH_FAILED));
  CHECK(equal(driver_result::not_supported, CUDA_ERROR_NOT_SUPPORTED));
  CHECK(equal(driver_result::system_driver_mismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH));
  CHECK(equal(driver_result::stream_capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
  CHECK(equal(driver_result::stream_capture_invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
  CHECK(equal(driver_result::stream_capture_unjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED));
  CHECK(equal(device_attribute::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  CHECK(equal(device_attribute::max_shared_memory_per_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
  CHECK(equal(device_attribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  CHECK(equal(device_attribute::l2_cache_size, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  CHECK(equal(device_attribute::max_threads_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
  CHECK(equal(device_attribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  CHECK(equal(device_attribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  CHECK(equal(device_attribute::max_shared_memory_per_block_optin,
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  CHECK(equal(device_attribute::memory_pools_supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED));
  CHECK(equal(function_attribute::shared_size_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  CHECK(equal(function_attribute::local_size_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  CHECK(equal(function_attribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS));
  CHECK(equal(function_attribute::max_dynamic_shared_size_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  CHECK(equal(pointer_attribute::memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
  CHECK(equal(pointer_attribute::device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
  CHECK(equal(memory_type::host, CU_MEMORYTYPE_HOST));
  CHECK(equal(memory_type::device, CU_MEMORYTYPE_DEVICE));
  CHECK(equal(capture_mode::thread_local_calls, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CHECK(equal(capture_mode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(equal(capture_status::active, CU_STREAM_CAPTURE_STATUS_ACTIVE));
  CHECK(equal(capture_status::invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED));
  CHECK(equal(stream_non_blocking, CU_STREAM_NON_BLOCKING));
  CHECK(equal(event_disable_timing, CU_EVENT_DISABLE_TIMING));
  CHECK(equal(host_memory_portable, CU_MEMHOSTALLOC_PORTABLE));
  CHECK(equal(nvrtc_result::out_of_memory, NVRTC_ERROR_OUT_OF_MEMORY));
  CHECK(equal(nvrtc_result::invalid_option, NVRTC_ERROR_INVALID_OPTION));
  CHECK(equal(nvrtc_result::compilation, NVRTC_ERROR_COMPILATION));
}
#else
TEST_CASE("our declarations agree with the toolkit's") {
  MESSAGE("skipped: no CUDA toolkit in /usr/local/cuda, whose headers this compares with");
}
#endif
