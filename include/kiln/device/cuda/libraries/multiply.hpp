// SPDX-License-Identifier: BSL-1.0
// Matrix products on the device Cuda, by cuBLASLt: stacks of matrices in any layout it can read, with the epilogues
// that it has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>
#include <kiln/core/storage.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/context.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/libraries/multiply_plan.hpp>
#include <kiln/device/cuda/libraries/multiply_run.hpp>
#include <kiln/device/cuda/libraries/multiply_task.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/memory/memory_copy.hpp>

namespace kiln::cuda {

namespace detail {

inline constexpr std::uintptr_t bias_alignment = 16;

// Whether all of a task is one product, over batch axes that are summed.
bool is_one_sum(const product_task& task);

// Throws unless a task makes sense.
void check_task(const product_task& task);

void check_layouts(const product_task& task, bool empty_sum);

}  // namespace detail

/// Whether cuBLASLt documents the epilogue and the bias of a task: the GELU not in float64, where its accuracy is not
/// stated, a bias or sums only at an address that is a multiple of 16, and sums only beside one product, without
/// another epilogue. True if there is none of these.
bool can_fuse(const product_task& task);

/// Queues a product, or a stack of them, in a stream. Sums of float16 and bfloat16 are made in float32 and rounded
/// once; where products are summed over batch axes whose strides do not let them be one longer sum, once for each
/// product. Sums of no products are zero. Throws shape_error and value_error for what does not fit (is_readable,
/// can_fuse), dtype_error for other types, device_error where cuBLASLt is missing or fails.
void multiply(const product_task& task, const stream& where);

/// can_fuse(task), and cuBLASLt found a kernel for it on the stream's device: then multiply() has one too. The answer
/// is kept with the plan, so asking costs nothing that multiply() would not.
bool can_fuse(const product_task& task, const stream& where);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/libraries/multiply_impl.hpp>
#endif
