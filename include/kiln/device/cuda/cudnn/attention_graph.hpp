// SPDX-License-Identifier: BSL-1.0
// Attention as graphs for cuDNN: the patterns that its fused engines (flash attention) match. The forward pass leaves
// the logarithm of the sum of exponentials of each query's scores, as kiln's own kernels do, so either can go back.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>

#include <kiln/core/attention_job.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/cudnn/operation_graph.hpp>

namespace kiln::cuda {

/// Sizes and strides of an attention of (batch, heads, rows, width) tensors; two of the same layout share a plan.
struct attention_layout {
  cudnn_type type{};
  std::int64_t batch = 1, heads = 1, queries = 0, keys = 0, width = 0, value_width = 0;
  std::array<std::int64_t, 3> q{}, k{}, v{};  ///< strides of batch, head and row; a row is contiguous
  bool causal = false;
  auto operator<=>(const attention_layout&) const = default;
};

/// The layout of a job that cuDNN may take: half or bfloat16, without masks and dropout, rows whose elements are
/// contiguous, with widths that are multiples of 8 up to 128, at multiples of 16 bytes. Else none.
std::optional<attention_layout> cudnn_attention_layout(const attention_job& job);

/// The tensors of a forward graph.
struct attention_forward_graph {
  operation_graph graph;
  graph_tensor q, k, v, out, logsumexp;
  graph_tensor scale;       ///< by value
  graph_tensor hidden = 0;  ///< by value, the score of keys behind a query: -infinity; only if causal
  explicit attention_forward_graph(const attention_layout& s);
};

/// The tensors of a backward graph. `sums` (batch, heads, queries) and `dq_sum` (batch, heads, queries, width) are
/// floats in memory that the caller lends. A deterministic graph has no dq_sum, to which blocks of keys add in any
/// order; its engine keeps the gradients of the scores in its workspace instead.
struct attention_backward_graph {
  operation_graph graph;
  graph_tensor q, k, v, out, logsumexp, dout, dq, dk, dv, sums, dq_sum = 0;
  graph_tensor scale, one;
  graph_tensor hidden = 0;
  attention_backward_graph(const attention_layout& s, bool deterministic);
};

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/cudnn/attention_graph_impl.hpp>
#endif
