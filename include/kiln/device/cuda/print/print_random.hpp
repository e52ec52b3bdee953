// SPDX-License-Identifier: BSL-1.0
// Kernels that fill memory with random numbers, the same ones as the CPU draws: uniform numbers and integers bit for
// bit, normal ones but for the rounding of log, sin and cos.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/print/print_fixed.hpp>

namespace kiln::cuda {

enum class random_kind : std::uint8_t { uniform, normal, integers };

/// The kernel that fills n elements of this type. Its parameters: T* to, int64 n, uint64 seed, uint64 first (the number
/// of the stream's first block), const uint64* moved (see draw_offset.hpp), and for integers int64 low, uint64 range.
/// Any number of blocks of 256 threads will do. Throws dtype_error for uniform or normal numbers of a type that is not
/// floating.
source print_random(random_kind kind, dtype type);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_random_impl.hpp>
#endif
