// SPDX-License-Identifier: BSL-1.0
// cuDNN 9, NVIDIA's convolutions, poolings and batch norms: its types and functions, as far as kiln calls them, opened
// at the first use. Values are those of NVIDIA's documented binary interface, the same in all versions 9.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/driver_types.hpp>
#include <kiln/device/cuda/libraries/library_products.hpp>

namespace kiln::cuda {

// Handles are pointers to types that only the library knows.
struct cudnn_object;
struct cudnn_tensor_object;
struct cudnn_filter_object;
struct cudnn_convolution_object;
struct cudnn_pooling_object;
using cudnn_handle = cudnn_object*;
using cudnn_tensor = cudnn_tensor_object*;
using cudnn_filter = cudnn_filter_object*;
using cudnn_convolution = cudnn_convolution_object*;
using cudnn_pooling = cudnn_pooling_object*;

/// What every function of cuDNN returns. Below a thousand they count kinds: 3002 is a kind of 3000.
enum class cudnn_status : int {
  success = 0,
  not_initialized = 1001,
  bad_parameter = 2000,
  not_supported = 3000,
  internal_error = 4000,
  host_allocation_failed = 4003,
  device_allocation_failed = 4004,
  execution_failed = 5000
};

enum class cudnn_type : int { float32 = 0, float64 = 1, float16 = 2, int32 = 4, bfloat16 = 9, boolean = 11 };
enum class cudnn_format : int { nchw = 0, nhwc = 1 };
enum class cudnn_mode : int { convolution = 0, cross_correlation = 1 };

/// `standard` lets float32 be rounded to TF32 where there are tensor cores; `fma` does not.
enum class cudnn_math : int { standard = 0, tensor_cores = 1, tensor_cores_with_conversion = 2, fma = 3 };

enum class cudnn_pooling_mode : int {
  max = 0,
  average_with_padding = 1,
  average_without_padding = 2,
  max_deterministic = 3
};
enum class cudnn_nan : int { drop = 0, propagate = 1 };
enum class cudnn_batch_norm_mode : int { spatial = 1 };  ///< one mean and variance for each channel

/// An answer to get_*_algorithm: the number of an algorithm, and what it needs. The same for all three.
struct cudnn_algorithm {
  int algorithm;
  cudnn_status status;
  float milliseconds;
  std::size_t workspace_bytes;
  int deterministic;
  cudnn_math math;
  int reserved[3];
};

/// The functions of cuDNN that kiln calls.
struct cudnn_functions {
  template <class... Parameters>
  using function = cudnn_status(Parameters...);

  std::size_t (*get_version)();
  const char* (*get_error_string)(cudnn_status);
  function<cudnn_handle*>* create;
  function<cudnn_handle, stream_handle>* set_stream;

  function<cudnn_tensor*>* tensor_create;
  function<cudnn_tensor>* tensor_destroy;
  function<cudnn_tensor, cudnn_format, cudnn_type, int, int, int, int>* tensor_set;
  function<cudnn_filter*>* filter_create;
  function<cudnn_filter>* filter_destroy;
  function<cudnn_filter, cudnn_type, cudnn_format, int, int, int, int>* filter_set;

  function<cudnn_convolution*>* convolution_create;
  function<cudnn_convolution>* convolution_destroy;
  function<cudnn_convolution, int, int, int, int, int, int, cudnn_mode, cudnn_type>* convolution_set;
  function<cudnn_convolution, cudnn_math>* convolution_set_math;
  function<cudnn_convolution, int>* convolution_set_groups;

  function<cudnn_handle, cudnn_tensor, cudnn_filter, cudnn_convolution, cudnn_tensor, int, int*, cudnn_algorithm*>*
      get_forward;
  function<cudnn_handle, cudnn_filter, cudnn_tensor, cudnn_convolution, cudnn_tensor, int, int*, cudnn_algorithm*>*
      get_backward_data;
  function<cudnn_handle, cudnn_tensor, cudnn_tensor, cudnn_convolution, cudnn_filter, int, int*, cudnn_algorithm*>*
      get_backward_filter;
  function<cudnn_handle, const void*, cudnn_tensor, const void*, cudnn_filter, const void*, cudnn_convolution, int,
           void*, std::size_t, const void*, cudnn_tensor, void*>* forward;
  function<cudnn_handle, const void*, cudnn_filter, const void*, cudnn_tensor, const void*, cudnn_convolution, int,
           void*, std::size_t, const void*, cudnn_tensor, void*>* backward_data;
  function<cudnn_handle, const void*, cudnn_tensor, const void*, cudnn_tensor, const void*, cudnn_convolution, int,
           void*, std::size_t, const void*, cudnn_filter, void*>* backward_filter;
  function<cudnn_handle, const void*, cudnn_tensor, const void*, const void*, cudnn_tensor, void*>* add_tensor;

  function<cudnn_pooling*>* pooling_create;
  function<cudnn_pooling>* pooling_destroy;
  function<cudnn_pooling, cudnn_pooling_mode, cudnn_nan, int, int, int, int, int, int>* pooling_set;
  function<cudnn_handle, cudnn_pooling, const void*, cudnn_tensor, const void*, const void*, cudnn_tensor, void*>*
      pooling_forward;
  function<cudnn_handle, cudnn_pooling, const void*, cudnn_tensor, const void*, cudnn_tensor, const void*, cudnn_tensor,
           const void*, const void*, cudnn_tensor, void*>* pooling_backward;

  // Deprecated, so that a later 9 may lack them: then both are null, and all else goes on.
  function<cudnn_handle, cudnn_batch_norm_mode, const void*, const void*, cudnn_tensor, const void*, cudnn_tensor,
           void*, cudnn_tensor, const void*, const void*, double, void*, void*, double, void*, void*>*
      batch_norm_training;
  function<cudnn_handle, cudnn_batch_norm_mode, const void*, const void*, const void*, const void*, cudnn_tensor,
           const void*, cudnn_tensor, const void*, cudnn_tensor, void*, cudnn_tensor, const void*, void*, void*, double,
           const void*, const void*>* batch_norm_backward;

  library file;             ///< where all of these are from
  std::size_t version = 0;  ///< 91900 is 9.19.0
};

/// Looks up all functions in an open library. Throws device_error if one other than the deprecated batch norms is
/// missing or the library is not cuDNN 9.
std::unique_ptr<cudnn_functions> open_cudnn(const library& from);

/// The functions of cuDNN, looked up at the first call. Throws device_error that says where the library was looked for
/// and what to install.
inline const cudnn_functions& cudnn_api() {
  static const cudnn_functions& opened = *open_cudnn(cudnn()).release();  // tried again if it throws
  return opened;
}

namespace detail {

inline const char* way_out(cudnn_status status) {
  if (status == cudnn_status::host_allocation_failed || status == cudnn_status::device_allocation_failed ||
      status == cudnn_status::not_initialized)
    return "free memory of the device: empty_cache(), smaller tensors, or fewer programs on it";
  switch (static_cast<int>(status) / 1000) {
    case 2:
      return "check that the operands are memory of this device";
    case 3:
      return "use another element type or smaller sizes, or a newer cuDNN";
    default:
      return "work queued earlier may be the cause: start anew with KILN_SYNC=1, or under compute-sanitizer";
  }
}

}  // namespace detail

/// Throws device_error that names the operation, the status, the library's file and the way out, unless `status` is
/// success.
void check(cudnn_status status, std::string_view operation);

/// cuDNN's number of an element type. Throws dtype_error for one that it does not compute with.
cudnn_type cudnn_type_of(dtype type);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/libraries/cudnn_impl.hpp>
#endif
