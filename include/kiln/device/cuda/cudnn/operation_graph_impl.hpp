// SPDX-License-Identifier: BSL-1.0
// The definitions of operation_graph.hpp.
#pragma once

#include <algorithm>

#include <kiln/device/cuda/cudnn/operation_graph.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE std::string last_backend_error() {
  std::array<char, 512> text{};
  cudnn_backend().last_error(text.data(), text.size());
  text.back() = 0;
  return text.data();
}

}  // namespace detail

KILN_INLINE graph_dims contiguous_strides(const graph_dims& sizes) {
  graph_dims strides = sizes;
  std::int64_t elements = 1;
  for (int i = sizes.rank - 1; i >= 0; --i) strides[i] = elements, elements *= sizes[i];
  return strides;
}

KILN_INLINE void graph_plan::run(cudnn_handle handle, std::span<const binding> tensors, void* workspace,
                                 const char* name) const {
  const cudnn_backend_functions& api = cudnn_backend();
  std::array<graph_tensor, 24> ids;
  std::array<const void*, 24> pointers;
  const std::size_t count = std::min(tensors.size(), ids.size());
  for (std::size_t i = 0; i < count; ++i) ids[i] = tensors[i].tensor, pointers[i] = tensors[i].data;
  backend_handle made = nullptr;
  check(api.create(backend_kind::variant_pack, &made), name);
  const backend_descriptor pack(made);
  const auto elements = static_cast<std::int64_t>(count);
  check(api.set(made, backend_attribute::pack_ids, backend_value::int64, elements, ids.data()), name);
  check(api.set(made, backend_attribute::pack_pointers, backend_value::pointer, elements, pointers.data()), name);
  check(api.set(made, backend_attribute::pack_workspace, backend_value::pointer, 1, &workspace), name);
  check(api.finalize(made), name);
  check(api.execute(handle, plan_.handle(), made), name);
}

KILN_INLINE bool operation_graph::good(cudnn_status status, const char* what) {
  if (status != cudnn_status::success && refusal_.empty())
    refusal_ = message(what, ": ", detail::last_backend_error(), " (", static_cast<int>(status), ")");
  return refusal_.empty();
}

KILN_INLINE backend_descriptor operation_graph::create(backend_kind kind) {
  backend_handle made = nullptr;
  if (refusal_.empty()) good(api_.create(kind, &made), "cudnnBackendCreateDescriptor");
  return backend_descriptor(made);
}

KILN_INLINE void operation_graph::set(const backend_descriptor& of, backend_attribute which,
                                      const value_array& values) {
  if (refusal_.empty())
    good(api_.set(of.handle(), which, values.kind, values.count, values.data), "cudnnBackendSetAttribute");
}

KILN_INLINE void operation_graph::set_descriptor(const backend_descriptor& of, backend_attribute which,
                                                 const backend_descriptor& value) {
  set(of, which, backend_value::descriptor, value.handle());
}

KILN_INLINE void operation_graph::set_tensor(const backend_descriptor& of, backend_attribute which,
                                             graph_tensor tensor) {
  if (tensor != 0 && refusal_.empty()) set_descriptor(of, which, tensors_[static_cast<std::size_t>(tensor - 1)]);
}

KILN_INLINE void operation_graph::finalize(const backend_descriptor& of, const char* what) {
  if (refusal_.empty()) good(api_.finalize(of.handle()), what);
}

KILN_INLINE void operation_graph::add_operation(backend_descriptor operation, const char* what) {
  finalize(operation, what);
  operations_.push_back(std::move(operation));
}

KILN_INLINE graph_tensor operation_graph::tensor(cudnn_type type, const graph_dims& sizes, const graph_dims& strides,
                                                 graph_memory memory) {
  constexpr std::int64_t alignment = 16;
  const graph_tensor id = static_cast<graph_tensor>(tensors_.size()) + 1;
  backend_descriptor t = create(backend_kind::tensor);
  set(t, backend_attribute::tensor_type, backend_value::data_type, type);
  set(t, backend_attribute::tensor_dimensions, {backend_value::int64, sizes.rank, sizes.values.data()});
  set(t, backend_attribute::tensor_strides, {backend_value::int64, strides.rank, strides.values.data()});
  set(t, backend_attribute::tensor_id, backend_value::int64, id);
  set(t, backend_attribute::tensor_alignment, backend_value::int64, alignment);
  const bool yes = true;
  if (memory == graph_memory::none) set(t, backend_attribute::tensor_is_virtual, backend_value::boolean, yes);
  if (memory == graph_memory::host) set(t, backend_attribute::tensor_is_by_value, backend_value::boolean, yes);
  finalize(t, "tensor");
  tensors_.push_back(std::move(t));
  return id;
}

KILN_INLINE graph_tensor operation_graph::number(int rank) {
  graph_dims ones;
  ones.rank = rank;
  for (int i = 0; i < rank; ++i) ones[i] = 1;
  return tensor(cudnn_type::float32, ones, ones, graph_memory::host);
}

KILN_INLINE void operation_graph::matmul(graph_tensor a, graph_tensor b, graph_tensor c) {
  backend_descriptor how = create(backend_kind::matmul);
  set(how, backend_attribute::matmul_compute_type, backend_value::data_type, cudnn_type::float32);
  finalize(how, "matmul");
  backend_descriptor operation = create(backend_kind::matmul_operation);
  set_tensor(operation, backend_attribute::matmul_operation_a, a);
  set_tensor(operation, backend_attribute::matmul_operation_b, b);
  set_tensor(operation, backend_attribute::matmul_operation_c, c);
  set_descriptor(operation, backend_attribute::matmul_operation_descriptor, how);
  parts_.push_back(std::move(how));
  add_operation(std::move(operation), "matmul operation");
}

KILN_INLINE void operation_graph::pointwise(backend_pointwise mode, graph_tensor x, graph_tensor b, graph_tensor t,
                                            graph_tensor y, cudnn_type compute, int axis) {
  backend_descriptor how = create(backend_kind::pointwise);
  set(how, backend_attribute::pointwise_mode, backend_value::pointwise_mode, mode);
  set(how, backend_attribute::pointwise_compute_type, backend_value::data_type, compute);
  if (axis >= 0) set(how, backend_attribute::pointwise_axis, backend_value::int64, static_cast<std::int64_t>(axis));
  finalize(how, "pointwise");
  backend_descriptor operation = create(backend_kind::pointwise_operation);
  set_descriptor(operation, backend_attribute::pointwise_operation_descriptor, how);
  set_tensor(operation, backend_attribute::pointwise_operation_x, x);
  set_tensor(operation, backend_attribute::pointwise_operation_b, b);
  set_tensor(operation, backend_attribute::pointwise_operation_t, t);
  set_tensor(operation, backend_attribute::pointwise_operation_y, y);
  parts_.push_back(std::move(how));
  add_operation(std::move(operation), "pointwise operation");
}

KILN_INLINE void operation_graph::reduce(backend_reduction by, graph_tensor x, graph_tensor y) {
  backend_descriptor how = create(backend_kind::reduction);
  set(how, backend_attribute::reduction_operator, backend_value::reduction_operator, by);
  set(how, backend_attribute::reduction_compute_type, backend_value::data_type, cudnn_type::float32);
  finalize(how, "reduction");
  backend_descriptor operation = create(backend_kind::reduction_operation);
  set_tensor(operation, backend_attribute::reduction_operation_x, x);
  set_tensor(operation, backend_attribute::reduction_operation_y, y);
  set_descriptor(operation, backend_attribute::reduction_operation_descriptor, how);
  parts_.push_back(std::move(how));
  add_operation(std::move(operation), "reduction operation");
}

KILN_INLINE void operation_graph::reshape(graph_tensor x, graph_tensor y) {
  backend_descriptor operation = create(backend_kind::reshape_operation);
  set_tensor(operation, backend_attribute::reshape_operation_x, x);
  set_tensor(operation, backend_attribute::reshape_operation_y, y);
  add_operation(std::move(operation), "reshape operation");
}

KILN_INLINE void operation_graph::batch_norm(const norm_forward& n) {
  using a = backend_attribute;
  backend_descriptor operation = create(backend_kind::norm_forward_operation);
  set(operation, a::norm_forward_mode, backend_value::norm_mode, backend_norm::batch);
  set(operation, a::norm_forward_phase, backend_value::norm_phase, backend_norm_phase::training);
  const std::pair<a, graph_tensor> tensors[] = {{a::norm_forward_x, n.x},
                                                {a::norm_forward_mean, n.mean},
                                                {a::norm_forward_inverse, n.inverse},
                                                {a::norm_forward_scale, n.scale},
                                                {a::norm_forward_bias, n.bias},
                                                {a::norm_forward_epsilon, n.epsilon},
                                                {a::norm_forward_momentum, n.momentum},
                                                {a::norm_forward_running_mean, n.running_mean},
                                                {a::norm_forward_running_variance, n.running_variance},
                                                {a::norm_forward_new_running_mean, n.new_running_mean},
                                                {a::norm_forward_new_running_variance, n.new_running_variance},
                                                {a::norm_forward_y, n.y}};
  for (const auto& [which, tensor] : tensors) set_tensor(operation, which, tensor);
  add_operation(std::move(operation), "norm forward operation");
}

KILN_INLINE void operation_graph::batch_norm_backward(const norm_backward& n) {
  using a = backend_attribute;
  backend_descriptor operation = create(backend_kind::norm_backward_operation);
  set(operation, a::norm_backward_mode, backend_value::norm_mode, backend_norm::batch);
  const std::pair<a, graph_tensor> tensors[] = {
      {a::norm_backward_x, n.x},         {a::norm_backward_mean, n.mean},   {a::norm_backward_inverse, n.inverse},
      {a::norm_backward_dy, n.dy},       {a::norm_backward_scale, n.scale}, {a::norm_backward_dscale, n.dscale},
      {a::norm_backward_dbias, n.dbias}, {a::norm_backward_dx, n.dx}};
  for (const auto& [which, tensor] : tensors) set_tensor(operation, which, tensor);
  add_operation(std::move(operation), "norm backward operation");
}

// Makes a plan of one proposal; false, with a reason, if it is not within the limits or cannot be finalized.
KILN_INLINE bool operation_graph::take_plan(const graph_target& target, backend_handle config,
                                            const plan_limits& limits, graph_plan& out, std::string& why) {
  backend_descriptor engine = create(backend_kind::engine);
  backend_handle handle = engine.handle();
  std::int64_t count = 0, index = -1;
  if (api_.get(config, backend_attribute::config_engine, backend_value::descriptor, 1, &count, &handle) ==
      cudnn_status::success) {
    api_.get(handle, backend_attribute::engine_index, backend_value::int64, 1, &count, &index);
    std::array<int, 32> notes{};
    std::int64_t noted = 0;
    const bool told = api_.get(handle, backend_attribute::engine_numerical_notes, backend_value::numerical_note,
                               static_cast<std::int64_t>(notes.size()), &noted, notes.data()) == cudnn_status::success;
    const auto end = notes.begin() + std::clamp<std::int64_t>(noted, 0, static_cast<std::int64_t>(notes.size()));
    if (limits.deterministic && (!told || std::find(notes.begin(), end, backend_nondeterministic) != end)) {
      why = message("engine ", index, " is not deterministic");
      return false;
    }
  }
  backend_handle made = nullptr;
  if (api_.create(backend_kind::execution_plan, &made) != cudnn_status::success) return false;
  backend_descriptor plan(made);
  const bool for_handle = target.handle != nullptr;
  const void* const device = for_handle ? static_cast<const void*>(&target.handle) : &target.properties;
  std::int64_t bytes = 0;
  if (api_.set(made, backend_attribute::plan_config, backend_value::descriptor, 1, &config) != cudnn_status::success ||
      api_.set(made, for_handle ? backend_attribute::plan_library : backend_attribute::plan_device,
               for_handle ? backend_value::handle : backend_value::descriptor, 1, device) != cudnn_status::success ||
      api_.finalize(made) != cudnn_status::success ||
      api_.get(made, backend_attribute::plan_workspace_size, backend_value::int64, 1, &count, &bytes) !=
          cudnn_status::success) {
    why = message("engine ", index, ": ", detail::last_backend_error());
    return false;
  }
  if (static_cast<std::size_t>(bytes) > limits.workspace_bytes) {
    why = message("engine ", index, " wants a workspace of ", bytes, " bytes");
    return false;
  }
  out.plan_ = std::move(plan);
  out.workspace_bytes_ = static_cast<std::size_t>(bytes);
  out.engine_ = index;
  return true;
}

KILN_INLINE graph_plan operation_graph::plan(const graph_target& target, const plan_limits& limits) {
  constexpr std::int64_t most_proposals = 16;
  graph_plan out;
  backend_descriptor graph = create(backend_kind::operation_graph);
  std::vector<backend_handle> operations;
  for (const backend_descriptor& o : operations_) operations.push_back(o.handle());
  set(graph, backend_attribute::graph_operations,
      {backend_value::descriptor, static_cast<std::int64_t>(operations.size()), operations.data()});
  if (target.handle != nullptr) set(graph, backend_attribute::graph_library, backend_value::handle, target.handle);
  finalize(graph, "operation graph");
  std::string why = "no engine was proposed";
  for (const backend_heuristic mode : {backend_heuristic::best, backend_heuristic::fallback}) {
    if (!refusal_.empty() || out) break;
    backend_descriptor heuristics = create(backend_kind::engine_heuristics);
    set_descriptor(heuristics, backend_attribute::heuristics_graph, graph);
    set(heuristics, backend_attribute::heuristics_mode, backend_value::heuristic_mode, mode);
    if (target.handle == nullptr)
      set(heuristics, backend_attribute::heuristics_device, backend_value::descriptor, target.properties);
    if (!refusal_.empty()) break;
    std::int64_t count = 0;
    if (api_.finalize(heuristics.handle()) != cudnn_status::success ||
        api_.get(heuristics.handle(), backend_attribute::heuristics_results, backend_value::descriptor, 0, &count,
                 nullptr) != cudnn_status::success) {
      why = message("heuristics: ", detail::last_backend_error());
      continue;
    }
    std::vector<backend_descriptor> configs;
    std::vector<backend_handle> handles;
    for (std::int64_t i = 0; i < std::min(count, most_proposals); ++i) {
      configs.push_back(create(backend_kind::engine_config));
      handles.push_back(configs.back().handle());
    }
    std::int64_t given = 0;
    if (!handles.empty() &&
        api_.get(heuristics.handle(), backend_attribute::heuristics_results, backend_value::descriptor,
                 static_cast<std::int64_t>(handles.size()), &given, handles.data()) != cudnn_status::success)
      given = 0;
    for (std::int64_t i = 0; i < given && !out; ++i)
      if (take_plan(target, handles[static_cast<std::size_t>(i)], limits, out, why))
        out.parts_.push_back(std::move(configs[static_cast<std::size_t>(i)]));
  }
  if (!out) {
    out.refusal_ = refusal_.empty() ? why : refusal_;
    return out;
  }
  // The plan first refers to the graph, which refers to operations, which refer to tensors: freed in this order.
  out.parts_.push_back(std::move(graph));
  for (auto* group : {&operations_, &parts_, &tensors_}) {
    std::move(group->begin(), group->end(), std::back_inserter(out.parts_));
    group->clear();
  }
  return out;
}

}  // namespace kiln::cuda
