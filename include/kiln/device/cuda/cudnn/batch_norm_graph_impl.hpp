// SPDX-License-Identifier: BSL-1.0
// The definitions of batch_norm_graph.hpp.
#pragma once

#include <limits>

#include <kiln/device/cuda/cudnn/batch_norm_graph.hpp>
#include <kiln/device/cuda/cudnn/plan_cache.hpp>

namespace kiln::cuda {

namespace detail {

using training_plans = plan_cache<batch_norm_layout, batch_norm_training_graph>;
using norm_backward_plans = plan_cache<batch_norm_layout, batch_norm_backward_graph>;

/// Images in the order that cuDNN counts in, (batch, channels, positions, 1), and a float for each channel.
struct norm_tensors {
  const batch_norm_layout& s;
  operation_graph& graph;
  graph_tensor images() const {
    const std::int64_t row = s.channels, image = s.positions * row;
    return graph.tensor(cudnn_type_of(s.type), {s.batch, s.channels, s.positions, 1}, graph_dims{image, 1, row, row});
  }
  graph_tensor channel() const {
    return graph.tensor(cudnn_type::float32, {1, s.channels, 1, 1}, graph_dims{s.channels, 1, s.channels, s.channels});
  }
};

KILN_INLINE const planned_graph<batch_norm_training_graph>* training_plan(const batch_norm_layout& s, Cuda device,
                                                                          cudnn_handle handle) {
  return training_plans::of(device).find(s, {}, handle, [&] { return batch_norm_training_graph(s); });
}
KILN_INLINE const planned_graph<batch_norm_backward_graph>* norm_backward_plan(batch_norm_layout s, Cuda device,
                                                                               cudnn_handle handle) {
  s.running = false;
  return norm_backward_plans::of(device).find(s, {}, handle, [&] { return batch_norm_backward_graph(s); });
}

}  // namespace detail

KILN_INLINE batch_norm_training_graph::batch_norm_training_graph(const batch_norm_layout& s) {
  const detail::norm_tensors of{s, graph};
  x = of.images();
  y = of.images();
  scale = of.channel();
  bias = of.channel();
  mean = of.channel();
  inverse = of.channel();
  epsilon = graph.number(4);
  if (s.running) {
    momentum = graph.number(4);
    running_mean = of.channel();
    running_variance = of.channel();
    new_running_mean = of.channel();
    new_running_variance = of.channel();
  }
  graph.batch_norm({x, scale, bias, epsilon, y, mean, inverse, momentum, running_mean, running_variance,
                    new_running_mean, new_running_variance});
}

KILN_INLINE batch_norm_backward_graph::batch_norm_backward_graph(const batch_norm_layout& s) {
  const detail::norm_tensors of{s, graph};
  x = of.images();
  dy = of.images();
  scale = of.channel();
  mean = of.channel();
  inverse = of.channel();
  dx = of.images();
  dscale = of.channel();
  dbias = of.channel();
  graph.batch_norm_backward({x, dy, scale, mean, inverse, dx, dscale, dbias});
}

KILN_INLINE std::string cudnn_batch_norm_refusal(const batch_norm_layout& s, Cuda device) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max(), step = 8;
  if (s.type != dtype::float16 && s.type != dtype::bfloat16) return "cuDNN's graph is written for half types";
  if (s.batch <= 0 || s.positions <= 0 || s.channels <= 0 || s.channels % step != 0 ||
      most / s.batch / s.positions / s.channels == 0)
    return "cuDNN takes channels in multiples of 8, and fewer than 2^31 elements";
  if (properties(device).architecture < 80) return "the GPU is older than compute capability 8.0";
  if (std::string why = detail::cudnn_graph_hindrance(90000); !why.empty()) return why;
  return detail::asked_cudnn(device, [&](cudnn_handle handle) {
    std::string why = detail::refusal_of(detail::training_plan(s, device, handle));
    return why.empty() ? detail::refusal_of(detail::norm_backward_plan(s, device, handle)) : why;
  });
}

KILN_INLINE void cudnn_batch_norm(const batch_norm_layout& s, const void* x, const void* scale, const void* bias,
                                  double eps, void* y, void* mean, void* inverse,
                                  const batch_norm_running_floats& running, const stream& where) {
  const char* const name = "batch_norm by cuDNN";
  const device_scope scope(where.device());
  detail::cudnn_library::of(where.device()).use(where, [&](cudnn_handle handle) {
    const auto* const entry = detail::training_plan(s, where.device(), handle);
    const graph_plan& plan = detail::plan_of(entry, name);
    const batch_norm_training_graph& g = entry->graph;
    const float epsilon = static_cast<float>(eps), momentum = static_cast<float>(running.momentum);
    std::vector<graph_plan::binding> tensors{{g.x, x},
                                             {g.y, y},
                                             {g.scale, scale},
                                             {g.bias, bias},
                                             {g.mean, mean},
                                             {g.inverse, inverse},
                                             {g.epsilon, &epsilon}};
    if (s.running)
      tensors.insert(tensors.end(), {{g.momentum, &momentum},
                                     {g.running_mean, running.mean},
                                     {g.running_variance, running.variance},
                                     {g.new_running_mean, running.new_mean},
                                     {g.new_running_variance, running.new_variance}});
    const detail::lent_memory workspace(plan.workspace_bytes(), where);
    plan.run(handle, tensors, workspace.data(), name);
  });
}

KILN_INLINE void cudnn_batch_norm_backward(const batch_norm_layout& s, const void* x, const void* dy, const void* scale,
                                           const void* mean, const void* inverse, void* dx, void* dscale, void* dbias,
                                           const stream& where) {
  const char* const name = "gradients of batch_norm by cuDNN";
  const device_scope scope(where.device());
  detail::cudnn_library::of(where.device()).use(where, [&](cudnn_handle handle) {
    const auto* const entry = detail::norm_backward_plan(s, where.device(), handle);
    const graph_plan& plan = detail::plan_of(entry, name);
    const batch_norm_backward_graph& g = entry->graph;
    const graph_plan::binding tensors[] = {{g.x, x},           {g.dy, dy},           {g.scale, scale},
                                           {g.mean, mean},     {g.inverse, inverse}, {g.dx, dx},
                                           {g.dscale, dscale}, {g.dbias, dbias}};
    const detail::lent_memory workspace(plan.workspace_bytes(), where);
    plan.run(handle, tensors, workspace.data(), name);
  });
}

}  // namespace kiln::cuda
