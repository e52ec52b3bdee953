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
// Of pointers to functions. Types, and no function named: without the toolkit's libraries there is none to link.
template <class Ours, class Theirs>
constexpr bool same = same_form<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>;

}  // namespace

TEST_CASE("every declared function of the driver has the form of the toolkit's") {
  const kiln::cuda::driver_functions f{};
  CHECK(same<decltype(f.init), decltype(&::cuInit)>);
  CHECK(same<decltype(f.driver_get_version), decltype(&::cuDriverGetVersion)>);
  CHECK(same<decltype(f.get_error_name), decltype(&::cuGetErrorName)>);
  CHECK(same<decltype(f.get_error_string), decltype(&::cuGetErrorString)>);
  CHECK(same<decltype(f.device_get_count), decltype(&::cuDeviceGetCount)>);
  CHECK(same<decltype(f.device_get), decltype(&::cuDeviceGet)>);
  CHECK(same<decltype(f.device_get_name), decltype(&::cuDeviceGetName)>);
  CHECK(same<decltype(f.device_get_attribute), decltype(&::cuDeviceGetAttribute)>);
  CHECK(same<decltype(f.device_total_memory), decltype(&::cuDeviceTotalMem)>);
  CHECK(same<decltype(f.device_can_access_peer), decltype(&::cuDeviceCanAccessPeer)>);
  CHECK(same<decltype(f.primary_context_retain), decltype(&::cuDevicePrimaryCtxRetain)>);
  CHECK(same<decltype(f.primary_context_release), decltype(&::cuDevicePrimaryCtxRelease)>);
  CHECK(same<decltype(f.context_get_current), decltype(&::cuCtxGetCurrent)>);
  CHECK(same<decltype(f.context_set_current), decltype(&::cuCtxSetCurrent)>);
  CHECK(same<decltype(f.context_synchronize), decltype(static_cast<CUresult (*)()>(&::cuCtxSynchronize))>);
  CHECK(same<decltype(f.context_enable_peer_access), decltype(&::cuCtxEnablePeerAccess)>);
  CHECK(same<decltype(f.memory_allocate), decltype(&::cuMemAlloc)>);
  CHECK(same<decltype(f.memory_free), decltype(&::cuMemFree)>);
  CHECK(same<decltype(f.host_memory_allocate), decltype(&::cuMemHostAlloc)>);
  CHECK(same<decltype(f.host_memory_free), decltype(&::cuMemFreeHost)>);
  CHECK(same<decltype(f.memory_get_info), decltype(&::cuMemGetInfo)>);
  CHECK(same<decltype(f.pointer_get_attribute), decltype(&::cuPointerGetAttribute)>);
  CHECK(same<decltype(f.copy_to_device), decltype(&::cuMemcpyHtoDAsync)>);
  CHECK(same<decltype(f.copy_to_host), decltype(&::cuMemcpyDtoHAsync)>);
  CHECK(same<decltype(f.copy_on_device), decltype(&::cuMemcpyDtoDAsync)>);
  CHECK(same<decltype(f.copy_to_peer), decltype(&::cuMemcpyPeerAsync)>);
  CHECK(same<decltype(f.fill_bytes), decltype(&::cuMemsetD8Async)>);
  CHECK(same<decltype(f.stream_create), decltype(&::cuStreamCreateWithPriority)>);
  CHECK(same<decltype(f.stream_destroy), decltype(&::cuStreamDestroy)>);
  CHECK(same<decltype(f.stream_synchronize), decltype(&::cuStreamSynchronize)>);
  CHECK(same<decltype(f.stream_query), decltype(&::cuStreamQuery)>);
  CHECK(same<decltype(f.stream_wait_event), decltype(&::cuStreamWaitEvent)>);
  CHECK(same<decltype(f.event_create), decltype(&::cuEventCreate)>);
  CHECK(same<decltype(f.event_destroy), decltype(&::cuEventDestroy)>);
  CHECK(same<decltype(f.event_record), decltype(&::cuEventRecord)>);
  CHECK(same<decltype(f.event_query), decltype(&::cuEventQuery)>);
  CHECK(same<decltype(f.event_synchronize), decltype(&::cuEventSynchronize)>);
  CHECK(same<decltype(f.event_elapsed_time), decltype(&::cuEventElapsedTime)>);
  CHECK(same<decltype(f.module_load_data), decltype(&::cuModuleLoadData)>);
  CHECK(same<decltype(f.module_unload), decltype(&::cuModuleUnload)>);
  CHECK(same<decltype(f.module_get_function), decltype(&::cuModuleGetFunction)>);
  CHECK(same<decltype(f.function_get_attribute), decltype(&::cuFuncGetAttribute)>);
  CHECK(same<decltype(f.function_set_attribute), decltype(&::cuFuncSetAttribute)>);
  CHECK(same<decltype(f.blocks_per_multiprocessor), decltype(&::cuOccupancyMaxActiveBlocksPerMultiprocessor)>);
  CHECK(same<decltype(f.launch_kernel), decltype(&::cuLaunchKernel)>);
  CHECK(same<decltype(f.stream_begin_capture), decltype(&::cuStreamBeginCapture)>);
  CHECK(same<decltype(f.stream_end_capture), decltype(&::cuStreamEndCapture)>);
  CHECK(same<decltype(f.stream_is_capturing), decltype(&::cuStreamIsCapturing)>);
  CHECK(same<decltype(f.graph_instantiate), decltype(&::cuGraphInstantiate)>);
  CHECK(same<decltype(f.graph_launch), decltype(&::cuGraphLaunch)>);
  CHECK(same<decltype(f.graph_exec_destroy), decltype(&::cuGraphExecDestroy)>);
  CHECK(same<decltype(f.graph_destroy), decltype(&::cuGraphDestroy)>);
}

TEST_CASE("every declared function of NVRTC has the form of the toolkit's") {
  const kiln::cuda::nvrtc_functions f{};
  CHECK(same<decltype(f.get_error_string), decltype(&::nvrtcGetErrorString)>);
  CHECK(same<decltype(f.version), decltype(&::nvrtcVersion)>);
  CHECK(same<decltype(f.get_num_supported_archs), decltype(&::nvrtcGetNumSupportedArchs)>);
  CHECK(same<decltype(f.get_supported_archs), decltype(&::nvrtcGetSupportedArchs)>);
  CHECK(same<decltype(f.create_program), decltype(&::nvrtcCreateProgram)>);
  CHECK(same<decltype(f.destroy_program), decltype(&::nvrtcDestroyProgram)>);
  CHECK(same<decltype(f.compile_program), decltype(&::nvrtcCompileProgram)>);
  CHECK(same<decltype(f.get_program_log_size), decltype(&::nvrtcGetProgramLogSize)>);
  CHECK(same<decltype(f.get_program_log), decltype(&::nvrtcGetProgramLog)>);
  CHECK(same<decltype(f.get_ptx_size), decltype(&::nvrtcGetPTXSize)>);
  CHECK(same<decltype(f.get_ptx), decltype(&::nvrtcGetPTX)>);
  CHECK(same<decltype(f.get_cubin_size), decltype(&::nvrtcGetCUBINSize)>);
  CHECK(same<decltype(f.get_cubin), decltype(&::nvrtcGetCUBIN)>);
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
