// SPDX-License-Identifier: BSL-1.0
// Our declarations of NVIDIA's libraries against NVIDIA's own headers: every function takes parameters of the same
// number, kinds and sizes, every constant has the same value, every struct the same layout. That this compiles is the
// test; what it prints when it runs is the versions that were compared.
#include <kiln/device/cuda/compile/nvrtc.hpp>
#include <kiln/device/cuda/cudnn/backend.hpp>
#include <kiln/device/cuda/driver/driver.hpp>
#include <kiln/device/cuda/libraries/cublaslt.hpp>
#include <kiln/device/cuda/libraries/cudnn.hpp>
#include <kiln/distributed/nccl.hpp>

#include <cstddef>
#include <cstdio>
#include <iterator>
#include <type_traits>

#include <cublasLt.h>
#include <cuda.h>
#include <cudnn.h>
#include <nccl.h>
#include <nvrtc.h>

namespace {

using namespace kiln::cuda;

// What is passed in the same way: pointers, integers and enumerations of one size, floating numbers of one size, or
// structs of one size.
template <class T>
constexpr int kind = std::is_pointer_v<T>                         ? 1
                     : std::is_floating_point_v<T>                ? 2
                     : std::is_integral_v<T> || std::is_enum_v<T> ? 3
                                                                  : 4;
template <class A, class B>
constexpr bool same_kind = sizeof(A) == sizeof(B) && kind<A> == kind<B>;

template <class Ours, class Theirs>
constexpr bool same_form = false;
template <class A, class... As, class B, class... Bs>
constexpr bool same_form<A (*)(As...), B (*)(Bs...)> = [] {
  if constexpr (sizeof...(As) == sizeof...(Bs))
    return (same_kind<A, B> && ... && same_kind<As, Bs>);
  else
    return false;
}();

constexpr bool all(const auto& forms) {
  for (const bool one : forms)
    if (!one) return false;
  return true;
}
template <class Ours, class Theirs>
constexpr bool equal(Ours ours, Theirs theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
}

// ---- libcuda
namespace of_driver {
using ours = driver_functions;
constexpr bool forms[] = {
    same_form<decltype(ours::init), decltype(&cuInit)>,
    same_form<decltype(ours::driver_get_version), decltype(&cuDriverGetVersion)>,
    same_form<decltype(ours::get_error_name), decltype(&cuGetErrorName)>,
    same_form<decltype(ours::get_error_string), decltype(&cuGetErrorString)>,
    same_form<decltype(ours::device_get_count), decltype(&cuDeviceGetCount)>,
    same_form<decltype(ours::device_get), decltype(&cuDeviceGet)>,
    same_form<decltype(ours::device_get_name), decltype(&cuDeviceGetName)>,
    same_form<decltype(ours::device_get_attribute), decltype(&cuDeviceGetAttribute)>,
    same_form<decltype(ours::device_total_memory), decltype(&cuDeviceTotalMem)>,
    same_form<decltype(ours::device_can_access_peer), decltype(&cuDeviceCanAccessPeer)>,
    same_form<decltype(ours::primary_context_retain), decltype(&cuDevicePrimaryCtxRetain)>,
    same_form<decltype(ours::primary_context_release), decltype(&cuDevicePrimaryCtxRelease)>,
    same_form<decltype(ours::context_get_current), decltype(&cuCtxGetCurrent)>,
    same_form<decltype(ours::context_set_current), decltype(&cuCtxSetCurrent)>,
    same_form<decltype(ours::context_synchronize), decltype(static_cast<CUresult (*)()>(&cuCtxSynchronize))>,
    same_form<decltype(ours::context_enable_peer_access), decltype(&cuCtxEnablePeerAccess)>,
    same_form<decltype(ours::memory_allocate), decltype(&cuMemAlloc)>,
    same_form<decltype(ours::memory_free), decltype(&cuMemFree)>,
    same_form<decltype(ours::host_memory_allocate), decltype(&cuMemHostAlloc)>,
    same_form<decltype(ours::host_memory_free), decltype(&cuMemFreeHost)>,
    same_form<decltype(ours::memory_get_info), decltype(&cuMemGetInfo)>,
    same_form<decltype(ours::pointer_get_attribute), decltype(&cuPointerGetAttribute)>,
    same_form<decltype(ours::copy_to_device), decltype(&cuMemcpyHtoDAsync)>,
    same_form<decltype(ours::copy_to_host), decltype(&cuMemcpyDtoHAsync)>,
    same_form<decltype(ours::copy_on_device), decltype(&cuMemcpyDtoDAsync)>,
    same_form<decltype(ours::copy_to_peer), decltype(&cuMemcpyPeerAsync)>,
    same_form<decltype(ours::fill_bytes), decltype(&cuMemsetD8Async)>,
    same_form<decltype(ours::stream_create), decltype(&cuStreamCreateWithPriority)>,
    same_form<decltype(ours::stream_destroy), decltype(&cuStreamDestroy)>,
    same_form<decltype(ours::stream_synchronize), decltype(&cuStreamSynchronize)>,
    same_form<decltype(ours::stream_query), decltype(&cuStreamQuery)>,
    same_form<decltype(ours::stream_wait_event), decltype(&cuStreamWaitEvent)>,
    same_form<decltype(ours::event_create), decltype(&cuEventCreate)>,
    same_form<decltype(ours::event_destroy), decltype(&cuEventDestroy)>,
    same_form<decltype(ours::event_record), decltype(&cuEventRecord)>,
    same_form<decltype(ours::event_query), decltype(&cuEventQuery)>,
    same_form<decltype(ours::event_synchronize), decltype(&cuEventSynchronize)>,
    same_form<decltype(ours::event_elapsed_time), decltype(&cuEventElapsedTime)>,
    same_form<decltype(ours::module_load_data), decltype(&cuModuleLoadData)>,
    same_form<decltype(ours::module_unload), decltype(&cuModuleUnload)>,
    same_form<decltype(ours::module_get_function), decltype(&cuModuleGetFunction)>,
    same_form<decltype(ours::function_get_attribute), decltype(&cuFuncGetAttribute)>,
    same_form<decltype(ours::function_set_attribute), decltype(&cuFuncSetAttribute)>,
    same_form<decltype(ours::function_get_parameter), decltype(&cuFuncGetParamInfo)>,
    same_form<decltype(ours::blocks_per_multiprocessor), decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor)>,
    same_form<decltype(ours::active_clusters), decltype(&cuOccupancyMaxActiveClusters)>,
    same_form<decltype(ours::launch_kernel), decltype(&cuLaunchKernel)>,
    same_form<decltype(ours::launch_kernel_with), decltype(&cuLaunchKernelEx)>,
    same_form<decltype(ours::stream_begin_capture), decltype(&cuStreamBeginCapture)>,
    same_form<decltype(ours::stream_end_capture), decltype(&cuStreamEndCapture)>,
    same_form<decltype(ours::stream_is_capturing), decltype(&cuStreamIsCapturing)>,
    same_form<decltype(ours::graph_instantiate), decltype(&cuGraphInstantiate)>,
    same_form<decltype(ours::graph_launch), decltype(&cuGraphLaunch)>,
    same_form<decltype(ours::graph_exec_destroy), decltype(&cuGraphExecDestroy)>,
    same_form<decltype(ours::graph_destroy), decltype(&cuGraphDestroy)>,
};
static_assert(all(forms));
static_assert(std::size(forms) * sizeof(void*) == offsetof(ours, file), "a function is not compared");
static_assert(sizeof(launch_attribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(launch_attribute, allowed) == offsetof(CUlaunchAttribute, value));
static_assert(equal(launch_attribute_kind::programmatic_stream_serialization,
                    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
static_assert(sizeof(launch_config) == sizeof(CUlaunchConfig));
static_assert(offsetof(launch_config, block_x) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(launch_config, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(launch_config, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(launch_config, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(launch_config, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(equal(driver_result::success, CUDA_SUCCESS));
static_assert(equal(driver_result::invalid_value, CUDA_ERROR_INVALID_VALUE));
static_assert(equal(driver_result::unknown, CUDA_ERROR_UNKNOWN));
static_assert(equal(driver_result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY));
static_assert(equal(driver_result::not_initialized, CUDA_ERROR_NOT_INITIALIZED));
static_assert(equal(driver_result::deinitialized, CUDA_ERROR_DEINITIALIZED));
static_assert(equal(driver_result::no_device, CUDA_ERROR_NO_DEVICE));
static_assert(equal(driver_result::invalid_device, CUDA_ERROR_INVALID_DEVICE));
static_assert(equal(driver_result::invalid_image, CUDA_ERROR_INVALID_IMAGE));
static_assert(equal(driver_result::invalid_context, CUDA_ERROR_INVALID_CONTEXT));
static_assert(equal(driver_result::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU));
static_assert(equal(driver_result::unsupported_ptx_version, CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
static_assert(equal(driver_result::invalid_handle, CUDA_ERROR_INVALID_HANDLE));
static_assert(equal(driver_result::not_found, CUDA_ERROR_NOT_FOUND));
static_assert(equal(driver_result::not_ready, CUDA_ERROR_NOT_READY));
static_assert(equal(driver_result::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS));
static_assert(equal(driver_result::launch_out_of_resources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
static_assert(equal(driver_result::peer_access_already_enabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED));
static_assert(equal(driver_result::assert_failed, CUDA_ERROR_ASSERT));
static_assert(equal(driver_result::hardware_stack_error, CUDA_ERROR_HARDWARE_STACK_ERROR));
static_assert(equal(driver_result::illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION));
static_assert(equal(driver_result::invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE));
static_assert(equal(driver_result::invalid_program_counter, CUDA_ERROR_INVALID_PC));
static_assert(equal(driver_result::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS));
static_assert(equal(driver_result::launch_failed, CUDA_ERROR_LAUNCH_FAILED));
static_assert(equal(driver_result::not_supported, CUDA_ERROR_NOT_SUPPORTED));
static_assert(equal(driver_result::system_driver_mismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH));
static_assert(equal(driver_result::stream_capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
static_assert(equal(driver_result::stream_capture_invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
static_assert(equal(driver_result::stream_capture_unjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED));
static_assert(equal(driver_result::invalid_cluster_size, CUDA_ERROR_INVALID_CLUSTER_SIZE));
static_assert(equal(device_attribute::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(equal(device_attribute::max_shared_memory_per_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
static_assert(equal(device_attribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(equal(device_attribute::l2_cache_size, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
static_assert(equal(device_attribute::max_threads_per_multiprocessor,
                    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
static_assert(equal(device_attribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(equal(device_attribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(equal(device_attribute::max_shared_memory_per_block_optin,
                    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
static_assert(equal(device_attribute::memory_pools_supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED));
static_assert(equal(function_attribute::max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(equal(function_attribute::shared_size_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
static_assert(equal(function_attribute::local_size_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
static_assert(equal(function_attribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS));
static_assert(equal(function_attribute::max_dynamic_shared_size_bytes,
                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(equal(pointer_attribute::memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
static_assert(equal(pointer_attribute::device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
static_assert(equal(memory_type::host, CU_MEMORYTYPE_HOST));
static_assert(equal(memory_type::device, CU_MEMORYTYPE_DEVICE));
static_assert(equal(capture_mode::global, CU_STREAM_CAPTURE_MODE_GLOBAL));
static_assert(equal(capture_mode::thread_local_calls, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
static_assert(equal(capture_mode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED));
static_assert(equal(capture_status::none, CU_STREAM_CAPTURE_STATUS_NONE));
static_assert(equal(capture_status::active, CU_STREAM_CAPTURE_STATUS_ACTIVE));
static_assert(equal(capture_status::invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED));
static_assert(equal(stream_non_blocking, CU_STREAM_NON_BLOCKING));
static_assert(equal(event_disable_timing, CU_EVENT_DISABLE_TIMING));
static_assert(equal(host_memory_portable, CU_MEMHOSTALLOC_PORTABLE));
static_assert(sizeof(device_pointer) == sizeof(CUdeviceptr) && sizeof(device_number) == sizeof(CUdevice));
}  // namespace of_driver

// ---- NVRTC
namespace of_nvrtc {
using ours = nvrtc_functions;
constexpr bool forms[] = {
    same_form<decltype(ours::get_error_string), decltype(&nvrtcGetErrorString)>,
    same_form<decltype(ours::version), decltype(&nvrtcVersion)>,
    same_form<decltype(ours::get_num_supported_archs), decltype(&nvrtcGetNumSupportedArchs)>,
    same_form<decltype(ours::get_supported_archs), decltype(&nvrtcGetSupportedArchs)>,
    same_form<decltype(ours::create_program), decltype(&nvrtcCreateProgram)>,
    same_form<decltype(ours::destroy_program), decltype(&nvrtcDestroyProgram)>,
    same_form<decltype(ours::compile_program), decltype(&nvrtcCompileProgram)>,
    same_form<decltype(ours::get_program_log_size), decltype(&nvrtcGetProgramLogSize)>,
    same_form<decltype(ours::get_program_log), decltype(&nvrtcGetProgramLog)>,
    same_form<decltype(ours::get_ptx_size), decltype(&nvrtcGetPTXSize)>,
    same_form<decltype(ours::get_ptx), decltype(&nvrtcGetPTX)>,
    same_form<decltype(ours::get_cubin_size), decltype(&nvrtcGetCUBINSize)>,
    same_form<decltype(ours::get_cubin), decltype(&nvrtcGetCUBIN)>,
};
static_assert(all(forms));
static_assert(std::size(forms) * sizeof(void*) == offsetof(ours, file), "a function is not compared");
static_assert(equal(nvrtc_result::success, NVRTC_SUCCESS));
static_assert(equal(nvrtc_result::out_of_memory, NVRTC_ERROR_OUT_OF_MEMORY));
static_assert(equal(nvrtc_result::invalid_option, NVRTC_ERROR_INVALID_OPTION));
static_assert(equal(nvrtc_result::compilation, NVRTC_ERROR_COMPILATION));
}  // namespace of_nvrtc

// ---- cuBLASLt
namespace of_cublaslt {
using ours = cublaslt_functions;
constexpr bool forms[] = {
    same_form<decltype(ours::get_version), decltype(&cublasLtGetVersion)>,
    same_form<decltype(ours::get_status_name), decltype(&cublasLtGetStatusName)>,
    same_form<decltype(ours::get_status_string), decltype(&cublasLtGetStatusString)>,
    same_form<decltype(ours::create), decltype(&cublasLtCreate)>,
    same_form<decltype(ours::descriptor_create), decltype(&cublasLtMatmulDescCreate)>,
    same_form<decltype(ours::descriptor_destroy), decltype(&cublasLtMatmulDescDestroy)>,
    same_form<decltype(ours::descriptor_set), decltype(&cublasLtMatmulDescSetAttribute)>,
    same_form<decltype(ours::layout_create), decltype(&cublasLtMatrixLayoutCreate)>,
    same_form<decltype(ours::layout_destroy), decltype(&cublasLtMatrixLayoutDestroy)>,
    same_form<decltype(ours::layout_set), decltype(&cublasLtMatrixLayoutSetAttribute)>,
    same_form<decltype(ours::preference_create), decltype(&cublasLtMatmulPreferenceCreate)>,
    same_form<decltype(ours::preference_destroy), decltype(&cublasLtMatmulPreferenceDestroy)>,
    same_form<decltype(ours::preference_set), decltype(&cublasLtMatmulPreferenceSetAttribute)>,
    same_form<decltype(ours::get_heuristic), decltype(&cublasLtMatmulAlgoGetHeuristic)>,
    same_form<decltype(ours::multiply), decltype(&cublasLtMatmul)>,
};
static_assert(all(forms));
static_assert(std::size(forms) * sizeof(void*) == offsetof(ours, file), "a function is not compared");
static_assert(equal(cublas_status::success, CUBLAS_STATUS_SUCCESS));
static_assert(equal(cublas_status::not_initialized, CUBLAS_STATUS_NOT_INITIALIZED));
static_assert(equal(cublas_status::allocation_failed, CUBLAS_STATUS_ALLOC_FAILED));
static_assert(equal(cublas_status::invalid_value, CUBLAS_STATUS_INVALID_VALUE));
static_assert(equal(cublas_status::architecture_mismatch, CUBLAS_STATUS_ARCH_MISMATCH));
static_assert(equal(cublas_status::mapping_error, CUBLAS_STATUS_MAPPING_ERROR));
static_assert(equal(cublas_status::execution_failed, CUBLAS_STATUS_EXECUTION_FAILED));
static_assert(equal(cublas_status::internal_error, CUBLAS_STATUS_INTERNAL_ERROR));
static_assert(equal(cublas_status::not_supported, CUBLAS_STATUS_NOT_SUPPORTED));
static_assert(equal(cublas_status::license_error, CUBLAS_STATUS_LICENSE_ERROR));
static_assert(equal(cuda_data_type::float32, CUDA_R_32F));
static_assert(equal(cuda_data_type::float64, CUDA_R_64F));
static_assert(equal(cuda_data_type::float16, CUDA_R_16F));
static_assert(equal(cuda_data_type::bfloat16, CUDA_R_16BF));
static_assert(equal(cublas_compute::float32, CUBLAS_COMPUTE_32F));
static_assert(equal(cublas_compute::float64, CUBLAS_COMPUTE_64F));
static_assert(equal(cublas_compute::int32, CUBLAS_COMPUTE_32I));
static_assert(equal(cublas_compute::tf32, CUBLAS_COMPUTE_32F_FAST_TF32));
static_assert(equal(cuda_data_type::int8, CUDA_R_8I));
static_assert(equal(cuda_data_type::int32, CUDA_R_32I));
static_assert(equal(cuda_data_type::float8_e4m3fn, CUDA_R_8F_E4M3));
static_assert(equal(cuda_data_type::float8_e5m2, CUDA_R_8F_E5M2));
static_assert(equal(matmul_attribute::a_scale_pointer, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER));
static_assert(equal(matmul_attribute::b_scale_pointer, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER));
static_assert(equal(cublas_operation::none, CUBLAS_OP_N));
static_assert(equal(cublas_operation::transpose, CUBLAS_OP_T));
static_assert(equal(matmul_attribute::transpose_a, CUBLASLT_MATMUL_DESC_TRANSA));
static_assert(equal(matmul_attribute::transpose_b, CUBLASLT_MATMUL_DESC_TRANSB));
static_assert(equal(matmul_attribute::epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE));
static_assert(equal(matmul_attribute::bias_pointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER));
static_assert(equal(layout_attribute::batch_count, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
static_assert(equal(layout_attribute::batch_stride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
static_assert(equal(preference_attribute::workspace_bytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
static_assert(equal(preference_attribute::reduction_schemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK));
static_assert(equal(preference_attribute::alignment_a, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES));
static_assert(equal(preference_attribute::alignment_b, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES));
static_assert(equal(preference_attribute::alignment_c, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES));
static_assert(equal(preference_attribute::alignment_d, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));
static_assert(equal(matmul_epilogue::none, CUBLASLT_EPILOGUE_DEFAULT));
static_assert(equal(matmul_epilogue::relu, CUBLASLT_EPILOGUE_RELU));
static_assert(equal(matmul_epilogue::bias, CUBLASLT_EPILOGUE_BIAS));
static_assert(equal(matmul_epilogue::relu_bias, CUBLASLT_EPILOGUE_RELU_BIAS));
static_assert(equal(matmul_epilogue::gelu, CUBLASLT_EPILOGUE_GELU));
static_assert(equal(matmul_epilogue::gelu_bias, CUBLASLT_EPILOGUE_GELU_BIAS));
static_assert(equal(matmul_epilogue::bias_gradient_a, CUBLASLT_EPILOGUE_BGRADA));
static_assert(equal(matmul_epilogue::bias_gradient_b, CUBLASLT_EPILOGUE_BGRADB));
static_assert(equal(reduction_in_compute_type, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
static_assert(sizeof(matmul_algorithm) == sizeof(cublasLtMatmulAlgo_t));
using answer = cublasLtMatmulHeuristicResult_t;
static_assert(sizeof(matmul_heuristic) == sizeof(answer) && alignof(matmul_heuristic) == alignof(answer));
static_assert(offsetof(matmul_heuristic, algorithm) == offsetof(answer, algo));
static_assert(offsetof(matmul_heuristic, workspace_bytes) == offsetof(answer, workspaceSize));
static_assert(offsetof(matmul_heuristic, state) == offsetof(answer, state));
static_assert(offsetof(matmul_heuristic, waves) == offsetof(answer, wavesCount));
}  // namespace of_cublaslt

// ---- cuDNN
namespace of_cudnn {
using ours = cudnn_functions;
constexpr bool forms[] = {
    same_form<decltype(ours::get_version), decltype(&cudnnGetVersion)>,
    same_form<decltype(ours::get_error_string), decltype(&cudnnGetErrorString)>,
    same_form<decltype(ours::create), decltype(&cudnnCreate)>,
    same_form<decltype(ours::set_stream), decltype(&cudnnSetStream)>,
    same_form<decltype(ours::tensor_create), decltype(&cudnnCreateTensorDescriptor)>,
    same_form<decltype(ours::tensor_destroy), decltype(&cudnnDestroyTensorDescriptor)>,
    same_form<decltype(ours::tensor_set), decltype(&cudnnSetTensor4dDescriptor)>,
    same_form<decltype(ours::filter_create), decltype(&cudnnCreateFilterDescriptor)>,
    same_form<decltype(ours::filter_destroy), decltype(&cudnnDestroyFilterDescriptor)>,
    same_form<decltype(ours::filter_set), decltype(&cudnnSetFilter4dDescriptor)>,
    same_form<decltype(ours::convolution_create), decltype(&cudnnCreateConvolutionDescriptor)>,
    same_form<decltype(ours::convolution_destroy), decltype(&cudnnDestroyConvolutionDescriptor)>,
    same_form<decltype(ours::convolution_set), decltype(&cudnnSetConvolution2dDescriptor)>,
    same_form<decltype(ours::convolution_set_math), decltype(&cudnnSetConvolutionMathType)>,
    same_form<decltype(ours::convolution_set_groups), decltype(&cudnnSetConvolutionGroupCount)>,
    same_form<decltype(ours::get_forward), decltype(&cudnnGetConvolutionForwardAlgorithm_v7)>,
    same_form<decltype(ours::get_backward_data), decltype(&cudnnGetConvolutionBackwardDataAlgorithm_v7)>,
    same_form<decltype(ours::get_backward_filter), decltype(&cudnnGetConvolutionBackwardFilterAlgorithm_v7)>,
    same_form<decltype(ours::forward), decltype(&cudnnConvolutionForward)>,
    same_form<decltype(ours::backward_data), decltype(&cudnnConvolutionBackwardData)>,
    same_form<decltype(ours::backward_filter), decltype(&cudnnConvolutionBackwardFilter)>,
    same_form<decltype(ours::add_tensor), decltype(&cudnnAddTensor)>,
    same_form<decltype(ours::pooling_create), decltype(&cudnnCreatePoolingDescriptor)>,
    same_form<decltype(ours::pooling_destroy), decltype(&cudnnDestroyPoolingDescriptor)>,
    same_form<decltype(ours::pooling_set), decltype(&cudnnSetPooling2dDescriptor)>,
    same_form<decltype(ours::pooling_forward), decltype(&cudnnPoolingForward)>,
    same_form<decltype(ours::pooling_backward), decltype(&cudnnPoolingBackward)>,
    same_form<decltype(ours::batch_norm_training), decltype(&cudnnBatchNormalizationForwardTraining)>,
    same_form<decltype(ours::batch_norm_backward), decltype(&cudnnBatchNormalizationBackward)>,
};
static_assert(all(forms));
static_assert(std::size(forms) * sizeof(void*) == offsetof(ours, file), "a function is not compared");
static_assert(equal(cudnn_status::success, CUDNN_STATUS_SUCCESS));
static_assert(equal(cudnn_status::not_initialized, CUDNN_STATUS_NOT_INITIALIZED));
static_assert(equal(cudnn_status::bad_parameter, CUDNN_STATUS_BAD_PARAM));
static_assert(equal(cudnn_status::not_supported, CUDNN_STATUS_NOT_SUPPORTED));
static_assert(equal(cudnn_status::internal_error, CUDNN_STATUS_INTERNAL_ERROR));
static_assert(equal(cudnn_status::host_allocation_failed, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED));
static_assert(equal(cudnn_status::device_allocation_failed, CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED));
static_assert(equal(cudnn_status::execution_failed, CUDNN_STATUS_EXECUTION_FAILED));
static_assert(equal(cudnn_type::float32, CUDNN_DATA_FLOAT));
static_assert(equal(cudnn_type::float64, CUDNN_DATA_DOUBLE));
static_assert(equal(cudnn_type::float16, CUDNN_DATA_HALF));
static_assert(equal(cudnn_type::bfloat16, CUDNN_DATA_BFLOAT16));
static_assert(equal(cudnn_type::int32, CUDNN_DATA_INT32));
static_assert(equal(cudnn_type::boolean, CUDNN_DATA_BOOLEAN));
static_assert(equal(cudnn_format::nchw, CUDNN_TENSOR_NCHW));
static_assert(equal(cudnn_format::nhwc, CUDNN_TENSOR_NHWC));
static_assert(equal(cudnn_mode::convolution, CUDNN_CONVOLUTION));
static_assert(equal(cudnn_mode::cross_correlation, CUDNN_CROSS_CORRELATION));
static_assert(equal(cudnn_math::standard, CUDNN_DEFAULT_MATH));
static_assert(equal(cudnn_math::tensor_cores, CUDNN_TENSOR_OP_MATH));
static_assert(equal(cudnn_math::tensor_cores_with_conversion, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION));
static_assert(equal(cudnn_math::fma, CUDNN_FMA_MATH));
static_assert(equal(cudnn_pooling_mode::max, CUDNN_POOLING_MAX));
static_assert(equal(cudnn_pooling_mode::average_with_padding, CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING));
static_assert(equal(cudnn_pooling_mode::average_without_padding, CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING));
static_assert(equal(cudnn_pooling_mode::max_deterministic, CUDNN_POOLING_MAX_DETERMINISTIC));
static_assert(equal(cudnn_nan::drop, CUDNN_NOT_PROPAGATE_NAN));
static_assert(equal(cudnn_nan::propagate, CUDNN_PROPAGATE_NAN));
static_assert(equal(cudnn_batch_norm_mode::spatial, CUDNN_BATCHNORM_SPATIAL));
template <class Answer>
constexpr bool same_answer = sizeof(cudnn_algorithm) == sizeof(Answer) &&
                             offsetof(cudnn_algorithm, algorithm) == offsetof(Answer, algo) &&
                             offsetof(cudnn_algorithm, status) == offsetof(Answer, status) &&
                             offsetof(cudnn_algorithm, milliseconds) == offsetof(Answer, time) &&
                             offsetof(cudnn_algorithm, workspace_bytes) == offsetof(Answer, memory) &&
                             offsetof(cudnn_algorithm, deterministic) == offsetof(Answer, determinism) &&
                             offsetof(cudnn_algorithm, math) == offsetof(Answer, mathType);
static_assert(same_answer<cudnnConvolutionFwdAlgoPerf_t> && same_answer<cudnnConvolutionBwdDataAlgoPerf_t> &&
              same_answer<cudnnConvolutionBwdFilterAlgoPerf_t>);

using our_backend = cudnn_backend_functions;
constexpr bool backend_forms[] = {
    same_form<decltype(our_backend::create), decltype(&cudnnBackendCreateDescriptor)>,
    same_form<decltype(our_backend::destroy), decltype(&cudnnBackendDestroyDescriptor)>,
    same_form<decltype(our_backend::finalize), decltype(&cudnnBackendFinalize)>,
    same_form<decltype(our_backend::set), decltype(&cudnnBackendSetAttribute)>,
    same_form<decltype(our_backend::get), decltype(&cudnnBackendGetAttribute)>,
    same_form<decltype(our_backend::execute), decltype(&cudnnBackendExecute)>,
    std::is_same_v<decltype(our_backend::last_error), decltype(&cudnnGetLastErrorString)>,
};
static_assert(all(backend_forms));
static_assert(std::size(backend_forms) * sizeof(void*) == offsetof(our_backend, complete),
              "a function is not compared");
static_assert(equal(backend_kind::pointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
static_assert(equal(backend_kind::engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
static_assert(equal(backend_kind::engine_config, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
static_assert(equal(backend_kind::engine_heuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
static_assert(equal(backend_kind::execution_plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
static_assert(equal(backend_kind::pointwise_operation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
static_assert(equal(backend_kind::operation_graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
static_assert(equal(backend_kind::variant_pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
static_assert(equal(backend_kind::tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
static_assert(equal(backend_kind::matmul, CUDNN_BACKEND_MATMUL_DESCRIPTOR));
static_assert(equal(backend_kind::matmul_operation, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR));
static_assert(equal(backend_kind::reduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
static_assert(equal(backend_kind::reduction_operation, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR));
static_assert(equal(backend_kind::norm_forward_operation, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR));
static_assert(equal(backend_kind::norm_backward_operation, CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR));
static_assert(equal(backend_kind::reshape_operation, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR));
static_assert(equal(backend_value::handle, CUDNN_TYPE_HANDLE));
static_assert(equal(backend_value::data_type, CUDNN_TYPE_DATA_TYPE));
static_assert(equal(backend_value::boolean, CUDNN_TYPE_BOOLEAN));
static_assert(equal(backend_value::int64, CUDNN_TYPE_INT64));
static_assert(equal(backend_value::pointer, CUDNN_TYPE_VOID_PTR));
static_assert(equal(backend_value::heuristic_mode, CUDNN_TYPE_HEUR_MODE));
static_assert(equal(backend_value::numerical_note, CUDNN_TYPE_NUMERICAL_NOTE));
static_assert(equal(backend_value::pointwise_mode, CUDNN_TYPE_POINTWISE_MODE));
static_assert(equal(backend_value::descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR));
static_assert(equal(backend_value::reduction_operator, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE));
static_assert(equal(backend_value::character, CUDNN_TYPE_CHAR));
static_assert(equal(backend_value::norm_mode, CUDNN_TYPE_NORM_MODE));
static_assert(equal(backend_value::norm_phase, CUDNN_TYPE_NORM_FWD_PHASE));
static_assert(equal(backend_attribute::pointwise_mode, CUDNN_ATTR_POINTWISE_MODE));
static_assert(equal(backend_attribute::pointwise_compute_type, CUDNN_ATTR_POINTWISE_MATH_PREC));
static_assert(equal(backend_attribute::pointwise_axis, CUDNN_ATTR_POINTWISE_AXIS));
static_assert(equal(backend_attribute::heuristics_mode, CUDNN_ATTR_ENGINEHEUR_MODE));
static_assert(equal(backend_attribute::heuristics_graph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
static_assert(equal(backend_attribute::heuristics_results, CUDNN_ATTR_ENGINEHEUR_RESULTS));
static_assert(equal(backend_attribute::config_engine, CUDNN_ATTR_ENGINECFG_ENGINE));
static_assert(equal(backend_attribute::plan_library, CUDNN_ATTR_EXECUTION_PLAN_HANDLE));
static_assert(equal(backend_attribute::plan_config, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
static_assert(equal(backend_attribute::plan_workspace_size, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
static_assert(equal(backend_attribute::pointwise_operation_descriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR));
static_assert(equal(backend_attribute::pointwise_operation_x, CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
static_assert(equal(backend_attribute::pointwise_operation_b, CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
static_assert(equal(backend_attribute::pointwise_operation_y, CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
static_assert(equal(backend_attribute::pointwise_operation_t, CUDNN_ATTR_OPERATION_POINTWISE_TDESC));
static_assert(equal(backend_attribute::graph_library, CUDNN_ATTR_OPERATIONGRAPH_HANDLE));
static_assert(equal(backend_attribute::graph_operations, CUDNN_ATTR_OPERATIONGRAPH_OPS));
static_assert(equal(backend_attribute::tensor_alignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
static_assert(equal(backend_attribute::tensor_type, CUDNN_ATTR_TENSOR_DATA_TYPE));
static_assert(equal(backend_attribute::tensor_dimensions, CUDNN_ATTR_TENSOR_DIMENSIONS));
static_assert(equal(backend_attribute::tensor_strides, CUDNN_ATTR_TENSOR_STRIDES));
static_assert(equal(backend_attribute::tensor_id, CUDNN_ATTR_TENSOR_UNIQUE_ID));
static_assert(equal(backend_attribute::tensor_is_virtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL));
static_assert(equal(backend_attribute::tensor_is_by_value, CUDNN_ATTR_TENSOR_IS_BY_VALUE));
static_assert(equal(backend_attribute::pack_ids, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS));
static_assert(equal(backend_attribute::pack_pointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
static_assert(equal(backend_attribute::pack_workspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
static_assert(equal(backend_attribute::engine_index, CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
static_assert(equal(backend_attribute::engine_numerical_notes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE));
static_assert(equal(backend_attribute::matmul_compute_type, CUDNN_ATTR_MATMUL_COMP_TYPE));
static_assert(equal(backend_attribute::matmul_operation_a, CUDNN_ATTR_OPERATION_MATMUL_ADESC));
static_assert(equal(backend_attribute::matmul_operation_b, CUDNN_ATTR_OPERATION_MATMUL_BDESC));
static_assert(equal(backend_attribute::matmul_operation_c, CUDNN_ATTR_OPERATION_MATMUL_CDESC));
static_assert(equal(backend_attribute::matmul_operation_descriptor, CUDNN_ATTR_OPERATION_MATMUL_DESC));
static_assert(equal(backend_attribute::reduction_operator, CUDNN_ATTR_REDUCTION_OPERATOR));
static_assert(equal(backend_attribute::reduction_compute_type, CUDNN_ATTR_REDUCTION_COMP_TYPE));
static_assert(equal(backend_attribute::reduction_operation_x, CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
static_assert(equal(backend_attribute::reduction_operation_y, CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
static_assert(equal(backend_attribute::reduction_operation_descriptor, CUDNN_ATTR_OPERATION_REDUCTION_DESC));
static_assert(equal(backend_attribute::norm_forward_mode, CUDNN_ATTR_OPERATION_NORM_FWD_MODE));
static_assert(equal(backend_attribute::norm_forward_phase, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE));
static_assert(equal(backend_attribute::norm_forward_x, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC));
static_assert(equal(backend_attribute::norm_forward_mean, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC));
static_assert(equal(backend_attribute::norm_forward_inverse, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC));
static_assert(equal(backend_attribute::norm_forward_scale, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC));
static_assert(equal(backend_attribute::norm_forward_bias, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC));
static_assert(equal(backend_attribute::norm_forward_epsilon, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC));
static_assert(equal(backend_attribute::norm_forward_momentum, CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC));
static_assert(equal(backend_attribute::norm_forward_running_mean,
                    CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC));
static_assert(equal(backend_attribute::norm_forward_running_variance,
                    CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC));
static_assert(equal(backend_attribute::norm_forward_new_running_mean,
                    CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC));
static_assert(equal(backend_attribute::norm_forward_new_running_variance,
                    CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC));
static_assert(equal(backend_attribute::norm_forward_y, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC));
static_assert(equal(backend_attribute::norm_backward_mode, CUDNN_ATTR_OPERATION_NORM_BWD_MODE));
static_assert(equal(backend_attribute::norm_backward_x, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC));
static_assert(equal(backend_attribute::norm_backward_mean, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC));
static_assert(equal(backend_attribute::norm_backward_inverse, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC));
static_assert(equal(backend_attribute::norm_backward_dy, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC));
static_assert(equal(backend_attribute::norm_backward_scale, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC));
static_assert(equal(backend_attribute::norm_backward_dscale, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC));
static_assert(equal(backend_attribute::norm_backward_dbias, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC));
static_assert(equal(backend_attribute::norm_backward_dx, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC));
static_assert(equal(backend_attribute::reshape_operation_x, CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
static_assert(equal(backend_attribute::reshape_operation_y, CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
static_assert(equal(backend_pointwise::add, CUDNN_POINTWISE_ADD));
static_assert(equal(backend_pointwise::multiply, CUDNN_POINTWISE_MUL));
static_assert(equal(backend_pointwise::divide, CUDNN_POINTWISE_DIV));
static_assert(equal(backend_pointwise::subtract, CUDNN_POINTWISE_SUB));
static_assert(equal(backend_pointwise::exponential, CUDNN_POINTWISE_EXP));
static_assert(equal(backend_pointwise::logarithm, CUDNN_POINTWISE_LOG));
static_assert(equal(backend_pointwise::identity, CUDNN_POINTWISE_IDENTITY));
static_assert(equal(backend_pointwise::greater_or_equal, CUDNN_POINTWISE_CMP_GE));
static_assert(equal(backend_pointwise::index, CUDNN_POINTWISE_GEN_INDEX));
static_assert(equal(backend_pointwise::select, CUDNN_POINTWISE_BINARY_SELECT));
static_assert(equal(backend_reduction::add, CUDNN_REDUCE_TENSOR_ADD));
static_assert(equal(backend_reduction::maximum, CUDNN_REDUCE_TENSOR_MAX));
static_assert(equal(backend_norm::batch, CUDNN_BATCH_NORM));
static_assert(equal(backend_norm_phase::training, CUDNN_NORM_FWD_TRAINING));
static_assert(equal(backend_heuristic::fallback, CUDNN_HEUR_MODE_FALLBACK));
static_assert(equal(backend_heuristic::best, CUDNN_HEUR_MODE_A));
static_assert(equal(backend_nondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
// Plans for a described device came with cuDNN 9.8.
#if CUDNN_VERSION >= 90800
static_assert(equal(backend_kind::device_properties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR));
static_assert(equal(backend_attribute::heuristics_device, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP));
static_assert(equal(backend_attribute::plan_device, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP));
static_assert(equal(backend_attribute::device_json, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION));
#endif
}  // namespace of_cudnn

// ---- NCCL
namespace of_nccl {
using namespace kiln::distributed;
using ours = kiln::distributed::nccl_functions;
constexpr bool forms[] = {
    same_form<decltype(ours::get_version), decltype(&ncclGetVersion)>,
    same_form<decltype(ours::get_error_string), decltype(&ncclGetErrorString)>,
    same_form<decltype(ours::get_unique_id), decltype(&ncclGetUniqueId)>,
    same_form<decltype(ours::comm_init_rank), decltype(&ncclCommInitRank)>,
    same_form<decltype(ours::comm_destroy), decltype(&ncclCommDestroy)>,
    same_form<decltype(ours::comm_abort), decltype(&ncclCommAbort)>,
    same_form<decltype(ours::comm_get_async_error), decltype(&ncclCommGetAsyncError)>,
    same_form<decltype(ours::all_reduce), decltype(&ncclAllReduce)>,
    same_form<decltype(ours::broadcast), decltype(&ncclBroadcast)>,
    same_form<decltype(ours::all_gather), decltype(&ncclAllGather)>,
};
static_assert(all(forms));
static_assert(std::size(forms) * sizeof(void*) == offsetof(ours, file), "a function is not compared");
static_assert(equal(nccl_status::success, ncclSuccess));
static_assert(equal(nccl_status::cuda_error, ncclUnhandledCudaError));
static_assert(equal(nccl_status::system_error, ncclSystemError));
static_assert(equal(nccl_status::internal_error, ncclInternalError));
static_assert(equal(nccl_status::invalid_argument, ncclInvalidArgument));
static_assert(equal(nccl_status::invalid_usage, ncclInvalidUsage));
static_assert(equal(nccl_status::remote_error, ncclRemoteError));
static_assert(equal(nccl_status::in_progress, ncclInProgress));
static_assert(equal(nccl_type::int8, ncclInt8));
static_assert(equal(nccl_type::uint8, ncclUint8));
static_assert(equal(nccl_type::int32, ncclInt32));
static_assert(equal(nccl_type::int64, ncclInt64));
static_assert(equal(nccl_type::float16, ncclFloat16));
static_assert(equal(nccl_type::float32, ncclFloat32));
static_assert(equal(nccl_type::float64, ncclFloat64));
static_assert(equal(nccl_type::bfloat16, ncclBfloat16));
static_assert(equal(nccl_reduction::sum, ncclSum));
static_assert(equal(nccl_reduction::product, ncclProd));
static_assert(equal(nccl_reduction::max, ncclMax));
static_assert(equal(nccl_reduction::min, ncclMin));
static_assert(equal(nccl_reduction::mean, ncclAvg));
static_assert(sizeof(nccl_id) == sizeof(ncclUniqueId));
}  // namespace of_nccl

}  // namespace

int main() {
  std::printf("compared with CUDA %d.%d, cuBLASLt %d, cuDNN %d, NCCL %d: %zu functions\n", CUDA_VERSION / 1000,
              CUDA_VERSION % 1000 / 10, CUBLAS_VERSION, CUDNN_VERSION, NCCL_VERSION_CODE,
              std::size(of_driver::forms) + std::size(of_nvrtc::forms) + std::size(of_cublaslt::forms) +
                  std::size(of_cudnn::forms) + std::size(of_cudnn::backend_forms) + std::size(of_nccl::forms));
}
