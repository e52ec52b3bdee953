// SPDX-License-Identifier: BSL-1.0
// Attention of half and bfloat16 by cuDNN's fused engines, where cuDNN takes it.
#pragma once

#include <cstdint>
#include <string>

#include <kiln/core/attention_job.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/cudnn/attention_graph.hpp>
#include <kiln/device/cuda/driver/stream.hpp>

namespace kiln::cuda {

namespace detail {

/// Less work than this (multiplications of the forward pass) is not worth a plan. Tests set it to 0.
inline std::int64_t least_cudnn_attention = std::int64_t{1} << 28;

}  // namespace detail

/// Why cuDNN does not compute a pass of a job; empty if it does. Makes the plan if the layout is new. The version of
/// cuDNN must be 9.10.2 or newer: older ones have known faults.
std::string cudnn_attention_refusal(const attention_job& job, Cuda device);
std::string cudnn_attention_backward_refusal(const attention_job& job, bool deterministic, Cuda device);

/// Whether a job is large enough that a plan pays, and cuDNN takes it, or its gradients, which are deterministic if
/// cuda::deterministic().
bool cudnn_attends(const attention_job& job, Cuda device);
bool cudnn_attends_backward(const attention_job& job, Cuda device);

/// Queues out and logsumexp, as attention() does. Throws device_error if cuDNN fails or refuses the job.
void cudnn_attention(const attention_job& job, void* out, void* logsumexp, const stream& where);

/// Queues the gradients of queries, keys and values, all contiguous and written, given what the forward pass left.
/// Throws as cudnn_attention().
void cudnn_attention_backward(const attention_job& job, bool deterministic, const void* out, const void* logsumexp,
                              const void* dout, void* dq, void* dk, void* dv, const stream& where);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/cudnn/attention_impl.hpp>
#endif
