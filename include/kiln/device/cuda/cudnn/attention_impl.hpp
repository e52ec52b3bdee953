// SPDX-License-Identifier: BSL-1.0
// The definitions of attention.hpp.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include <kiln/device/cuda/cudnn/attention.hpp>
#include <kiln/device/cuda/cudnn/plan_cache.hpp>
#include <kiln/device/cuda/driver/device.hpp>
#include <kiln/device/cuda/run/index.hpp>

namespace kiln::cuda {

namespace detail {

struct attention_backward_key {
  attention_layout layout;
  bool deterministic;
  auto operator<=>(const attention_backward_key&) const = default;
};
using attention_plans = plan_cache<attention_layout, attention_forward_graph>;
using attention_backward_plans = plan_cache<attention_backward_key, attention_backward_graph>;

KILN_INLINE const planned_graph<attention_forward_graph>* attention_plan(const attention_layout& s, Cuda device,
                                                                         cudnn_handle handle) {
  return attention_plans::of(device).find(s, {}, handle, [&] { return attention_forward_graph(s); });
}
KILN_INLINE const planned_graph<attention_backward_graph>* attention_backward_plan(const attention_layout& s,
                                                                                   bool deterministic, Cuda device,
                                                                                   cudnn_handle handle) {
  // A deterministic pass keeps 2 bytes for each score, 2^29 of them: as 32 heads of 4096 queries and keys have.
  const plan_limits limits{.workspace_bytes = std::size_t{1} << 30, .deterministic = deterministic};
  return attention_backward_plans::of(device).find({s, deterministic}, limits, handle,
                                                   [&] { return attention_backward_graph(s, deterministic); });
}

// Why cuDNN is not even asked, if so.
KILN_INLINE std::string attention_hindrance(const attention_job& job, Cuda device) {
  constexpr std::size_t least_version = 91002, any_number_of_keys = 91600;
  if (!cudnn_attention_layout(job)) return "cuDNN's graphs are not written for its type, masks, widths or strides";
  if (properties(device).architecture < 80) return "the GPU is older than compute capability 8.0";
  return cudnn_graph_hindrance(job.keys % 128 == 0 ? least_version : any_number_of_keys);
}

inline bool is_worth_a_plan(const attention_job& job) {
  const double work = static_cast<double>(job.matrices) * static_cast<double>(job.queries) *
                      static_cast<double>(job.keys) * static_cast<double>(job.width + job.value_width);
  return work >= static_cast<double>(least_cudnn_attention);
}

inline attention_layout planned_layout(const attention_job& job, const char* name) {
  const std::optional<attention_layout> layout = cudnn_attention_layout(job);
  if (!layout) throw device_error(message(name, ": there is no graph for it: ask cudnn_attention_refusal() first"));
  return *layout;
}

}  // namespace detail

KILN_INLINE std::string cudnn_attention_refusal(const attention_job& job, Cuda device) {
  std::string why = detail::attention_hindrance(job, device);
  if (!why.empty()) return why;
  return detail::asked_cudnn(device, [&](cudnn_handle handle) {
    return detail::refusal_of(detail::attention_plan(*cudnn_attention_layout(job), device, handle));
  });
}

KILN_INLINE std::string cudnn_attention_backward_refusal(const attention_job& job, bool deterministic, Cuda device) {
  std::string why = detail::attention_hindrance(job, device);
  if (!why.empty()) return why;
  if (deterministic && properties(device).architecture >= 100)
    return "cuDNN's gradients are not deterministic on a GPU of this compute capability";
  return detail::asked_cudnn(device, [&](cudnn_handle handle) {
    return detail::refusal_of(
        detail::attention_backward_plan(*cudnn_attention_layout(job), deterministic, device, handle));
  });
}

KILN_INLINE bool cudnn_attends(const attention_job& job, Cuda device) {
  return detail::is_worth_a_plan(job) && cudnn_attention_refusal(job, device).empty();
}

KILN_INLINE bool cudnn_attends_backward(const attention_job& job, Cuda device) {
  return detail::is_worth_a_plan(job) && cudnn_attention_backward_refusal(job, deterministic(), device).empty();
}

KILN_INLINE void cudnn_attention(const attention_job& job, void* out, void* logsumexp, const stream& where) {
  const char* const name = "scaled_dot_product_attention by cuDNN";
  const attention_layout layout = detail::planned_layout(job, name);
  const device_scope scope(where.device());
  detail::cudnn_library::of(where.device()).use(where, [&](cudnn_handle handle) {
    const auto* const entry = detail::attention_plan(layout, where.device(), handle);
    const graph_plan& plan = detail::plan_of(entry, name);
    const attention_forward_graph& g = entry->graph;
    const float scale = static_cast<float>(job.scale), hidden = -std::numeric_limits<float>::infinity();
    std::vector<graph_plan::binding> tensors{{g.q, job.q.data}, {g.k, job.k.data},        {g.v, job.v.data},
                                             {g.out, out},      {g.logsumexp, logsumexp}, {g.scale, &scale}};
    if (g.hidden != 0) tensors.push_back({g.hidden, &hidden});
    const detail::lent_memory workspace(plan.workspace_bytes(), where);
    plan.run(handle, tensors, workspace.data(), name);
  });
}

KILN_INLINE void cudnn_attention_backward(const attention_job& job, bool deterministic, const void* out,
                                          const void* logsumexp, const void* dout, void* dq, void* dk, void* dv,
                                          const stream& where) {
  const char* const name = "gradients of scaled_dot_product_attention by cuDNN";
  const attention_layout layout = detail::planned_layout(job, name);
  const device_scope scope(where.device());
  detail::cudnn_library::of(where.device()).use(where, [&](cudnn_handle handle) {
    const auto* const entry = detail::attention_backward_plan(layout, deterministic, where.device(), handle);
    const graph_plan& plan = detail::plan_of(entry, name);
    const attention_backward_graph& g = entry->graph;
    const float scale = static_cast<float>(job.scale), one = 1, hidden = -std::numeric_limits<float>::infinity();
    const std::size_t row_bytes = static_cast<std::size_t>(job.matrices * job.queries) * sizeof(float);
    const detail::lent_memory sums(row_bytes, where),
        dq_sum(g.dq_sum == 0 ? 0 : row_bytes * static_cast<std::size_t>(job.width), where),
        workspace(plan.workspace_bytes(), where);
    std::vector<graph_plan::binding> tensors{
        {g.q, job.q.data}, {g.k, job.k.data}, {g.v, job.v.data}, {g.out, out}, {g.logsumexp, logsumexp},
        {g.dout, dout},    {g.dq, dq},        {g.dk, dk},        {g.dv, dv},   {g.sums, sums.data()},
        {g.scale, &scale}, {g.one, &one}};
    if (g.dq_sum != 0) tensors.push_back({g.dq_sum, dq_sum.data()});
    if (g.hidden != 0) tensors.push_back({g.hidden, &hidden});
    plan.run(handle, tensors, workspace.data(), name);
  });
}

}  // namespace kiln::cuda
