// SPDX-License-Identifier: BSL-1.0
// Attention by kernels of our own, which hold no matrix of scores: half and bfloat16 on tensor cores
// (kernels/attention_mma.cuh), float and double by plain multiplications (kernels/attention_fma.cuh).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <kiln/core/attention_job.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/device.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/print/print_fixed.hpp>
#include <kiln/device/cuda/run/draw_offset.hpp>
#include <kiln/device/cuda/run/launch_fixed.hpp>

namespace kiln::cuda {

/// The kernels of attention.
enum class attention_kernel : std::uint8_t { forward, sums, backward_keys, backward_queries };

/// Rows of queries, keys and values are padded to one of these; longer ones the kernels do not take.
inline constexpr int attention_widths[] = {32, 64, 128};

/// One of the kernels, for elements of a floating type.
struct attention_text {
  attention_kernel which;
  dtype type;
  int width = attention_widths[0];  ///< of rows, padded
  /// Whether it takes masks, dropout, and scales that are not positive. Those of half types without these are faster;
  /// the others all take them.
  bool extras = true;
};

/// All texts for elements of a type.
std::vector<attention_text> attention_texts(dtype type);

/// The kernel for elements of type T, computed in C. Parameters:
///   forward:           attention_shape, T* out, C* logsumexp, const uint64* moved
///   sums:              const T* out, const T* dout, const C* logsumexp, attention_sums<C>* sums, int64 rows,
///                      int64 width, bool wide
///   backward_keys:     attention_shape, attention_gradient, T* dk, T* dv, bool add_k, bool add_v, const uint64* moved
///   backward_queries:  attention_shape, attention_gradient, T* dq, bool add, const uint64* moved
source print_attention(const attention_text& what);

/// Bytes of shared memory and threads of its blocks, and the rows of queries or keys that one has: the text checks it.
struct attention_block_size {
  int rows, threads, shared_bytes;
  int blocks = 0;  ///< that a multiprocessor is to run at once; 0: as the registers come
};
attention_block_size attention_block(const attention_text& what);

namespace detail {

/// The attention_matrices, attention_shape and attention_gradient of kernels/attention.cuh.
struct attention_matrices {
  const void* data = nullptr;
  std::int64_t stack[6] = {}, row = 0, column = 0;
  std::int32_t wide = 0;
};
struct attention_shape {
  std::int64_t matrices, queries, keys;
  std::int32_t width, value_width, rank, causal;
  std::int64_t sizes[6];
  attention_matrices q, k, v, added, allowed;
  double scale, kept;
  std::uint64_t seed, first;
  std::uint32_t dropped;
  std::int32_t drops;
};
static_assert(max_rank == 8, "a stack has up to six axes in front of its matrices");
struct attention_gradient {
  attention_matrices dout;
  const void* sums;
};

}  // namespace detail

/// Whether the kernels take a job: rows of up to 128 elements, and a GPU of compute capability 8.0 at least.
bool can_attend(const attention_job& job, Cuda device);

/// Queues out (matrices, queries, value_width) of the job's type, and for each query the logarithm of the sum of the
/// exponentials of its scores, in the type that it computes in. Throws device_error.
void attention(const attention_job& job, void* out, void* logsumexp, const stream& where);

/// Where a gradient goes, contiguous; nowhere if null.
struct attention_target {
  void* data = nullptr;
  bool add = false;  ///< to what is there
};
/// Queues the gradients of queries, keys and values, in this order, given what attention() gave and the gradient of
/// `out`. Targets may be one place, if the later ones add.
void attention_backward(const attention_job& job, const void* out, const void* logsumexp, const void* dout,
                        attention_target dq, attention_target dk, attention_target dv, const stream& where);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/run/attention_impl.hpp>
#endif
