// SPDX-License-Identifier: BSL-1.0
// Products of 8-bit matrices by cuBLASLt: float8 with a scale for each, summed in float32, and int8, summed in int32.
#pragma once

#include <string>

#include <kiln/core/dtype.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/libraries/multiply_plan.hpp>
#include <kiln/device/cuda/libraries/multiply_task.hpp>

namespace kiln::cuda {

/// out = (scale_a a) (scale_b b).
struct product_8bit {
  cuda_data_type type_a = cuda_data_type::int8, type_b = cuda_data_type::int8;
  dtype type_out = dtype::int32;                       ///< int32 of int8; float32, float16 or bfloat16 of float8
  matrix_operand a, b;                                 ///< a: m x k, b: k x n
  void* out = nullptr;                                 ///< m x n, contiguous
  const float *scale_a = nullptr, *scale_b = nullptr;  ///< of float8, one number each in device memory; null: 1
};

/// What keeps cuBLASLt from a product, as a sentence; empty: nothing. It multiplies matrices of 8-bit elements only
/// where each sum runs along neighbours in both operands ("TN"), and these begin at multiples of 16 bytes: of float8
/// with sizes k and n and distances between rows that are multiples of 16, of int8 of 4. (Those of m are free.)
std::string obstacle(const product_8bit& task);

/// Whether nothing is in the way, and cuBLASLt found a kernel on the stream's device.
bool can_multiply_8bit(const product_8bit& task, const stream& where);

/// Queues a product. Throws value_error with the obstacle, device_error where cuBLASLt has no kernel (float8 before
/// compute capability 8.9) or fails.
void multiply_8bit(const product_8bit& task, const stream& where);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/libraries/multiply_8bit_impl.hpp>
#endif
