// SPDX-License-Identifier: BSL-1.0
// cuBLASLt, NVIDIA's matrix products with epilogues: its types and functions, as far as kiln calls them, opened at the
// first use. Values are those of NVIDIA's documented binary interface, the same in CUDA 12 and 13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/driver_types.hpp>
#include <kiln/device/cuda/libraries/library_products.hpp>

namespace kiln::cuda {

// Handles are pointers to types that only the library knows.
struct cublaslt_object;
struct matmul_descriptor_object;
struct matrix_layout_object;
struct matmul_preference_object;
using cublaslt_handle = cublaslt_object*;
using matmul_descriptor = matmul_descriptor_object*;
using matrix_layout = matrix_layout_object*;
using matmul_preference = matmul_preference_object*;

/// What every function of cuBLAS and cuBLASLt returns.
enum class cublas_status : int {
  success = 0,
  not_initialized = 1,
  allocation_failed = 3,
  invalid_value = 7,
  architecture_mismatch = 8,
  mapping_error = 11,
  execution_failed = 13,
  internal_error = 14,
  not_supported = 15,
  license_error = 16
};

/// Element types, under the numbers that all of NVIDIA's libraries use.
enum class cuda_data_type : int {
  float32 = 0,
  float64 = 1,
  float16 = 2,
  int8 = 3,
  int32 = 10,
  bfloat16 = 14,
  float8_e4m3fn = 28,
  float8_e5m2 = 29
};

/// What products and sums are computed in.
enum class cublas_compute : int { float32 = 68, float64 = 70, int32 = 72, tf32 = 77 };

enum class cublas_operation : int { none = 0, transpose = 1 };

enum class matmul_attribute : int {
  transpose_a = 3,
  transpose_b = 4,
  epilogue = 7,
  bias_pointer = 8,
  a_scale_pointer = 17,
  b_scale_pointer = 18
};

enum class layout_attribute : int { batch_count = 5, batch_stride = 6 };

enum class preference_attribute : int {
  workspace_bytes = 1,
  reduction_schemes = 3,
  alignment_a = 5,
  alignment_b = 6,
  alignment_c = 7,
  alignment_d = 8
};

/// What is done to the sums before they are stored. Bias comes first; the vector has an element for each row of the
/// column-major result. Bias gradients are written to that vector: an operand summed over the inner axis, an element
/// for each row of the result from a, for each column from b.
enum class matmul_epilogue : std::uint32_t {
  none = 1,
  relu = 2,
  bias = 4,
  relu_bias = 6,
  gelu = 32,
  gelu_bias = 36,
  bias_gradient_a = 256,
  bias_gradient_b = 512
};

/// How the parts of sums that were split between blocks are put together: a mask.
inline constexpr std::uint32_t reduction_in_compute_type = 2;

/// A chosen kernel and its parameters; the library's business.
struct matmul_algorithm {
  std::uint64_t data[8];
};

/// An answer to get_heuristic.
struct matmul_heuristic {
  matmul_algorithm algorithm;
  std::size_t workspace_bytes;
  cublas_status state;
  float waves;
  int reserved[4];
};

/// The functions of cuBLASLt that kiln calls.
struct cublaslt_functions {
  template <class... Parameters>
  using function = cublas_status(Parameters...);

  std::size_t (*get_version)();
  const char* (*get_status_name)(cublas_status);
  const char* (*get_status_string)(cublas_status);
  function<cublaslt_handle*>* create;

  function<matmul_descriptor*, cublas_compute, cuda_data_type>* descriptor_create;
  function<matmul_descriptor>* descriptor_destroy;
  function<matmul_descriptor, matmul_attribute, const void*, std::size_t>* descriptor_set;

  function<matrix_layout*, cuda_data_type, std::uint64_t, std::uint64_t, std::int64_t>* layout_create;
  function<matrix_layout>* layout_destroy;
  function<matrix_layout, layout_attribute, const void*, std::size_t>* layout_set;

  function<matmul_preference*>* preference_create;
  function<matmul_preference>* preference_destroy;
  function<matmul_preference, preference_attribute, const void*, std::size_t>* preference_set;

  function<cublaslt_handle, matmul_descriptor, matrix_layout, matrix_layout, matrix_layout, matrix_layout,
           matmul_preference, int, matmul_heuristic*, int*>* get_heuristic;
  function<cublaslt_handle, matmul_descriptor, const void*, const void*, matrix_layout, const void*, matrix_layout,
           const void*, const void*, matrix_layout, void*, matrix_layout, const matmul_algorithm*, void*, std::size_t,
           stream_handle>* multiply;

  library file;             ///< where all of these are from
  std::size_t version = 0;  ///< 120804 is 12.8.4
};

/// Looks up all functions in an open library. Throws device_error if one is missing or the library is older than 12.
std::unique_ptr<cublaslt_functions> open_cublaslt(const library& from);

/// The functions of cuBLASLt, looked up at the first call. Throws device_error that says where the library was looked
/// for and what to install.
inline const cublaslt_functions& cublaslt_api() {
  static const cublaslt_functions& opened = *open_cublaslt(cublaslt()).release();  // tried again if it throws
  return opened;
}

namespace detail {

inline const char* way_out(cublas_status status) {
  switch (status) {
    case cublas_status::not_initialized:
    case cublas_status::allocation_failed:
      return "free memory of the device: empty_cache(), smaller tensors, or fewer programs on it";
    case cublas_status::architecture_mismatch:
    case cublas_status::not_supported:
      return "use another element type, contiguous operands, or a newer cuBLASLt";
    case cublas_status::execution_failed:
    case cublas_status::internal_error:
      return "work queued earlier may be the cause: start anew with KILN_SYNC=1, or under compute-sanitizer";
    default:
      return "check that the operands are memory of this device";
  }
}

}  // namespace detail

/// "CUBLAS_STATUS_NOT_SUPPORTED (15): an unsupported value or parameter was passed".
std::string describe(cublas_status status);

/// Throws device_error that names the operation, the status, the library's file and the way out, unless `status` is
/// success.
void check(cublas_status status, std::string_view operation);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/libraries/cublaslt_impl.hpp>
#endif
