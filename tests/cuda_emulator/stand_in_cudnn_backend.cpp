// SPDX-License-Identifier: BSL-1.0
// The backend API of the stand-in for libcudnn. Every descriptor is its kind and its attributes. Finalizing one checks
// that all are there which cuDNN's documentation requires, in the type that it names; a plan runs its graph by plain
// loops (stand_in_cudnn_graph.hpp), after the variant pack has been checked: no tensor missing, none too many, device
// memory of the size and alignment of each, a workspace.
#include <array>
#include <cstring>
#include <memory>
#include <set>

#include "stand_in_cudnn_graph.hpp"

namespace kiln::cuda::stand_in {
namespace {

constexpr auto good = cudnn_status::success;
constexpr auto bad = cudnn_status::bad_parameter;
constexpr auto unsupported = cudnn_status::not_supported;
constexpr std::size_t workspace_size = 1536;

struct attribute_value {
  backend_value kind{};
  std::vector<unsigned char> bytes;
  std::int64_t count = 0;
};
struct backend_object {
  backend_kind kind{};
  bool finalized = false;
  std::map<backend_attribute, attribute_value> attributes;

  template <class T>
  std::vector<T> all(backend_attribute which) const {
    const auto found = attributes.find(which);
    if (found == attributes.end()) return {};
    std::vector<T> out(found->second.bytes.size() / sizeof(T));
    std::memcpy(out.data(), found->second.bytes.data(), out.size() * sizeof(T));
    return out;
  }
  template <class T>
  T one(backend_attribute which, T otherwise = {}) const {
    const auto found = attributes.find(which);
    if (found != attributes.end() && found->second.bytes.size() >= sizeof(T))
      std::memcpy(&otherwise, found->second.bytes.data(), sizeof(T));
    return otherwise;
  }
};

std::set<backend_object*>& living() {
  static std::set<backend_object*>& all = *new std::set<backend_object*>;
  return all;
}
backend_object* object_at(const void* handle) {
  auto* const found = static_cast<backend_object*>(const_cast<void*>(handle));
  return living().count(found) != 0 ? found : nullptr;
}
// A descriptor that another one refers to: alive, finalized and of a kind.
backend_object* referred(const void* handle, backend_kind kind) {
  backend_object* const found = object_at(handle);
  return found != nullptr && found->finalized && found->kind == kind ? found : nullptr;
}

// The last failure's words.
std::string& last_error() {
  static thread_local std::string words;
  return words;
}
cudnn_status refuse(cudnn_status status, const char* why) {
  last_error() = why;
  return status;
}

std::size_t size_of_value(backend_value kind) {
  switch (kind) {
    case backend_value::handle:
    case backend_value::int64:
    case backend_value::pointer:
    case backend_value::descriptor:
      return 8;
    case backend_value::boolean:
    case backend_value::character:
      return 1;
    default:
      return 4;
  }
}

// What the attributes of a kind must be; `required` is whether there is none without it.
struct rule {
  backend_attribute which;
  backend_value kind;
  bool required;
};
std::vector<rule> rules_of(backend_kind kind) {
  using a = backend_attribute;
  using v = backend_value;
  switch (kind) {
    case backend_kind::tensor:
      return {{a::tensor_type, v::data_type, true},      {a::tensor_dimensions, v::int64, true},
              {a::tensor_strides, v::int64, true},       {a::tensor_id, v::int64, true},
              {a::tensor_alignment, v::int64, true},     {a::tensor_is_virtual, v::boolean, false},
              {a::tensor_is_by_value, v::boolean, false}};
    case backend_kind::pointwise:
      return {{a::pointwise_mode, v::pointwise_mode, true},
              {a::pointwise_compute_type, v::data_type, true},
              {a::pointwise_axis, v::int64, false}};
    case backend_kind::pointwise_operation:
      return {{a::pointwise_operation_descriptor, v::descriptor, true},
              {a::pointwise_operation_x, v::descriptor, true},
              {a::pointwise_operation_b, v::descriptor, false},
              {a::pointwise_operation_t, v::descriptor, false},
              {a::pointwise_operation_y, v::descriptor, true}};
    case backend_kind::matmul:
      return {{a::matmul_compute_type, v::data_type, true}};
    case backend_kind::matmul_operation:
      return {{a::matmul_operation_descriptor, v::descriptor, true},
              {a::matmul_operation_a, v::descriptor, true},
              {a::matmul_operation_b, v::descriptor, true},
              {a::matmul_operation_c, v::descriptor, true}};
    case backend_kind::reduction:
      return {{a::reduction_operator, v::reduction_operator, true}, {a::reduction_compute_type, v::data_type, true}};
    case backend_kind::reduction_operation:
      return {{a::reduction_operation_descriptor, v::descriptor, true},
              {a::reduction_operation_x, v::descriptor, true},
              {a::reduction_operation_y, v::descriptor, true}};
    case backend_kind::reshape_operation:
      return {{a::reshape_operation_x, v::descriptor, true}, {a::reshape_operation_y, v::descriptor, true}};
    case backend_kind::norm_forward_operation: {
      std::vector<rule> all{{a::norm_forward_mode, v::norm_mode, true}, {a::norm_forward_phase, v::norm_phase, true}};
      for (const a one : {a::norm_forward_x, a::norm_forward_mean, a::norm_forward_inverse, a::norm_forward_scale,
                          a::norm_forward_bias, a::norm_forward_epsilon, a::norm_forward_y})
        all.push_back({one, v::descriptor, true});
      for (const a one : {a::norm_forward_momentum, a::norm_forward_running_mean, a::norm_forward_running_variance,
                          a::norm_forward_new_running_mean, a::norm_forward_new_running_variance})
        all.push_back({one, v::descriptor, false});
      return all;
    }
    case backend_kind::norm_backward_operation: {
      std::vector<rule> all{{a::norm_backward_mode, v::norm_mode, true}};
      for (const a one : {a::norm_backward_x, a::norm_backward_mean, a::norm_backward_inverse, a::norm_backward_dy,
                          a::norm_backward_scale, a::norm_backward_dscale, a::norm_backward_dbias, a::norm_backward_dx})
        all.push_back({one, v::descriptor, true});
      return all;
    }
    case backend_kind::operation_graph:
      return {{a::graph_operations, v::descriptor, true}, {a::graph_library, v::handle, true}};
    case backend_kind::engine_heuristics:
      return {{a::heuristics_graph, v::descriptor, true}, {a::heuristics_mode, v::heuristic_mode, true}};
    case backend_kind::execution_plan:
      return {{a::plan_config, v::descriptor, true}, {a::plan_library, v::handle, true}};
    case backend_kind::variant_pack:
      return {
          {a::pack_ids, v::int64, true}, {a::pack_pointers, v::pointer, true}, {a::pack_workspace, v::pointer, true}};
    default:
      return {};
  }
}

// ---- a graph, read out of descriptors ----

struct graph_contents {
  std::map<std::int64_t, graph_tensor_info> tensors;
  std::vector<graph_operation> operations;
};

bool read_tensor(const backend_object& t, graph_tensor_info& out) {
  using a = backend_attribute;
  out = {t.one<std::int64_t>(a::tensor_id),         t.one<cudnn_type>(a::tensor_type),
         t.all<std::int64_t>(a::tensor_dimensions), t.all<std::int64_t>(a::tensor_strides),
         t.one<bool>(a::tensor_is_virtual),         t.one<bool>(a::tensor_is_by_value)};
  if (out.sizes.empty() || out.sizes.size() != out.strides.size() || out.sizes.size() > 8) return false;
  for (std::size_t i = 0; i < out.sizes.size(); ++i)
    if (out.sizes[i] < 1 || out.strides[i] < 1) return false;
  return t.one<std::int64_t>(a::tensor_alignment) == 16 && !(out.is_virtual && out.by_value);
}

// Why a graph cannot be; null if it can.
const char* read_graph(const backend_object& graph, graph_contents& out) {
  using a = backend_attribute;
  std::set<std::int64_t> made;
  for (const void* handle : graph.all<void*>(a::graph_operations)) {
    const backend_object* const from = object_at(handle);
    if (from == nullptr || !from->finalized) return "an operation is not finalized";
    graph_operation o{.kind = from->kind, .tensors = {}};
    for (const auto& [which, value] : from->attributes) {
      if (value.kind != backend_value::descriptor) continue;
      void* const at = from->one<void*>(which);
      if (const backend_object* const t = referred(at, backend_kind::tensor)) {
        graph_tensor_info info;
        if (!read_tensor(*t, info)) return "a tensor's attributes do not fit";
        const auto [place, fresh] = out.tensors.emplace(info.id, info);
        if (!fresh && !(place->second == info)) return "two tensors have one unique id";
        o.tensors[which] = info.id;
      } else if (const backend_object* const p = referred(at, backend_kind::pointwise)) {
        o.mode = p->one<backend_pointwise>(a::pointwise_mode);
        o.axis = static_cast<int>(p->one<std::int64_t>(a::pointwise_axis, -1));
      } else if (const backend_object* const r = referred(at, backend_kind::reduction)) {
        o.reduction = r->one<backend_reduction>(a::reduction_operator);
      } else if (referred(at, backend_kind::matmul) == nullptr) {
        return "an operation refers to what is not finalized";
      }
    }
    if (!is_sound(o, out.tensors)) return "the tensors of an operation do not fit each other";
    for (const auto& [which, id] : o.tensors) {
      const graph_tensor_info& t = out.tensors.at(id);
      if (is_output(which)) {
        if (t.by_value || !made.insert(id).second) return "a tensor is made twice, or by value";
      } else if (t.is_virtual && made.count(id) == 0) {
        return "a virtual tensor is read before it is made";
      }
    }
    out.operations.push_back(std::move(o));
  }
  return out.operations.empty() ? "no operations" : nullptr;
}

cudnn_status finalize(backend_object& object) {
  using a = backend_attribute;
  auto& all = state::instance();
  if (object.finalized) return refuse(bad, "finalized twice");
  const std::vector<rule> rules = rules_of(object.kind);
  for (const rule& r : rules) {
    const auto found = object.attributes.find(r.which);
    if (found == object.attributes.end()) {
      if (r.required) return refuse(bad, "a required attribute is missing");
    } else if (found->second.kind != r.kind) {
      return refuse(bad, "an attribute has the wrong type");
    }
  }
  for (const auto& [which, value] : object.attributes)
    if (std::none_of(rules.begin(), rules.end(), [&, w = which](const rule& r) { return r.which == w; }))
      return refuse(bad, "an attribute that this descriptor does not have");
  switch (object.kind) {
    case backend_kind::tensor: {
      graph_tensor_info info;
      if (!read_tensor(object, info)) return refuse(bad, "a tensor's attributes do not fit");
      break;
    }
    case backend_kind::operation_graph: {
      graph_contents contents;
      if (!is_ready(object.one<cudnn_handle>(a::graph_library))) return refuse(bad, "the graph's handle");
      if (const char* const why = read_graph(object, contents)) return refuse(bad, why);
      break;
    }
    case backend_kind::engine_heuristics:
      if (referred(object.one<void*>(a::heuristics_graph), backend_kind::operation_graph) == nullptr)
        return refuse(bad, "heuristics without a graph");
      if (all.settings["no_cudnn_engines"] != 0) return refuse(unsupported, "no engine for this graph");
      break;
    case backend_kind::execution_plan: {
      const backend_object* const config = referred(object.one<void*>(a::plan_config), backend_kind::engine_config);
      if (config == nullptr || !is_ready(object.one<cudnn_handle>(a::plan_library)))
        return refuse(bad, "a plan needs an engine configuration and a handle");
      if (all.fails("cudnn_plan")) return refuse(unsupported, "the engine does not take this graph");
      break;
    }
    case backend_kind::variant_pack:
      if (object.all<void*>(a::pack_pointers).size() != object.all<std::int64_t>(a::pack_ids).size())
        return refuse(bad, "as many pointers as ids");
      break;
    default:
      break;
  }
  object.finalized = true;
  return good;
}

// The configurations that heuristics propose: the first is not deterministic, the second is.
constexpr std::int64_t proposals = 2;

cudnn_status propose(const backend_object& heuristics, std::int64_t wanted, std::int64_t* count, void* out) {
  if (!heuristics.finalized) return refuse(bad, "heuristics that are not finalized");
  *count = wanted == 0 ? proposals : std::min(wanted, proposals);
  void** const into = static_cast<void**>(out);
  for (std::int64_t i = 0; i < std::min(wanted, proposals); ++i) {
    backend_object* const config = object_at(into[i]);
    if (config == nullptr || config->kind != backend_kind::engine_config) return refuse(bad, "no configuration");
    // Kept under attributes that no caller sets.
    void* const graph = heuristics.one<void*>(backend_attribute::heuristics_graph);
    attribute_value of{backend_value::descriptor, std::vector<unsigned char>(8), 1};
    std::memcpy(of.bytes.data(), &graph, 8);
    config->attributes[backend_attribute::heuristics_graph] = of;
    attribute_value index{backend_value::int64, std::vector<unsigned char>(8), 1};
    std::memcpy(index.bytes.data(), &i, 8);
    config->attributes[backend_attribute::engine_index] = index;
    config->finalized = true;
  }
  return good;
}

cudnn_status execute(const cudnn_object* handle, const backend_object& plan, const backend_object& pack) {
  using a = backend_attribute;
  auto& all = state::instance();
  const backend_object* const config = referred(plan.one<void*>(a::plan_config), backend_kind::engine_config);
  const backend_object* const graph =
      config ? referred(config->one<void*>(a::heuristics_graph), backend_kind::operation_graph) : nullptr;
  if (graph == nullptr) return refuse(bad, "the graph of the plan is gone");
  graph_contents contents;
  if (const char* const why = read_graph(*graph, contents)) return refuse(bad, why);
  const auto ids = pack.all<std::int64_t>(a::pack_ids);
  const auto pointers = pack.all<void*>(a::pack_pointers);
  std::map<std::int64_t, void*> memory;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto found = contents.tensors.find(ids[i]);
    if (found == contents.tensors.end() || found->second.is_virtual) return refuse(bad, "a tensor too many");
    if (!memory.emplace(ids[i], pointers[i]).second) return refuse(bad, "a tensor twice");
  }
  auto values = std::make_shared<std::map<std::int64_t, std::array<double, 1>>>();
  for (const auto& [id, t] : contents.tensors) {
    if (t.is_virtual) continue;
    const auto found = memory.find(id);
    if (found == memory.end() || found->second == nullptr) return refuse(bad, "a tensor without memory");
    const auto address = reinterpret_cast<std::uint64_t>(found->second);
    if (t.by_value) {  // read now: the caller's variable may be gone when the work is done
      std::memcpy((*values)[id].data(), found->second, size_of(t.type));
      memory[id] = (*values)[id].data();
      continue;
    }
    const auto bytes = static_cast<std::size_t>(t.extent()) * size_of(t.type);
    const allocation* const block = all.block_of(address, bytes);
    if (block == nullptr || block->context != handle->context) return refuse(bad, "not memory of this device");
    if (address % 16 != 0) return refuse(bad, "misaligned memory");
  }
  void* const workspace = pack.one<void*>(a::pack_workspace);
  if (!all.is_device(reinterpret_cast<std::uint64_t>(workspace), workspace_size)) return refuse(bad, "no workspace");
  all.enqueue(handle->stream, [=, contents = std::move(contents), memory = std::move(memory)] {
    static_cast<void>(values);  // kept alive
    std::memset(workspace, 0x5a, workspace_size);
    graph_run run(contents.tensors, memory);
    for (const graph_operation& o : contents.operations) run.run(o);
    return driver_result::success;
  });
  return good;
}

}  // namespace
}  // namespace kiln::cuda::stand_in

using namespace kiln::cuda;
using namespace kiln::cuda::stand_in;
using guarded = std::lock_guard<std::recursive_mutex>;

#pragma GCC visibility push(default)
extern "C" {

void cudnnGetLastErrorString(char* text, std::size_t size) {
  if (size == 0) return;
  std::strncpy(text, last_error().c_str(), size - 1);
  text[size - 1] = 0;
}
cudnn_status cudnnBackendCreateDescriptor(backend_kind kind, backend_handle* made) {
  const guarded lock(state::instance().mutex);
  if (const auto failed = enter_cudnn("cudnnBackendCreateDescriptor"); failed != good) return failed;
  auto* const object = new backend_object{.kind = kind, .attributes = {}};
  living().insert(object);
  *made = object;
  return good;
}
cudnn_status cudnnBackendDestroyDescriptor(backend_handle handle) {
  const guarded lock(state::instance().mutex);
  ++state::instance().counts["cudnnBackendDestroyDescriptor"];
  backend_object* const object = object_at(handle);
  if (object == nullptr) return refuse(bad, "not a descriptor");
  living().erase(object);
  delete object;
  return good;
}
cudnn_status cudnnBackendSetAttribute(backend_handle handle, backend_attribute which, backend_value kind,
                                      std::int64_t count, const void* values) {
  const guarded lock(state::instance().mutex);
  backend_object* const object = object_at(handle);
  if (object == nullptr || object->finalized || count < 1 || values == nullptr) return refuse(bad, "attribute");
  const auto* const bytes = static_cast<const unsigned char*>(values);
  object->attributes[which] = {kind, {bytes, bytes + static_cast<std::size_t>(count) * size_of_value(kind)}, count};
  return good;
}
cudnn_status cudnnBackendFinalize(backend_handle handle) {
  const guarded lock(state::instance().mutex);
  backend_object* const object = object_at(handle);
  if (object == nullptr) return refuse(bad, "not a descriptor");
  if (object->kind == backend_kind::execution_plan) ++state::instance().counts["cudnnBackendFinalize"];
  return finalize(*object);
}
cudnn_status cudnnBackendGetAttribute(backend_handle handle, backend_attribute which, backend_value kind,
                                      std::int64_t wanted, std::int64_t* count, void* values) {
  const guarded lock(state::instance().mutex);
  const backend_object* const object = object_at(handle);
  if (object == nullptr || !object->finalized) return refuse(bad, "not a finalized descriptor");
  const auto index = object->one<std::int64_t>(backend_attribute::engine_index);
  switch (which) {
    case backend_attribute::heuristics_results:
      return kind == backend_value::descriptor ? propose(*object, wanted, count, values) : bad;
    case backend_attribute::config_engine: {
      backend_object* const engine = object_at(*static_cast<void**>(values));
      if (kind != backend_value::descriptor || engine == nullptr || engine->kind != backend_kind::engine) return bad;
      engine->attributes[backend_attribute::engine_index] = object->attributes.at(backend_attribute::engine_index);
      engine->finalized = true;
      *count = 1;
      return good;
    }
    case backend_attribute::engine_index:
      std::memcpy(values, &index, 8);
      *count = 1;
      return good;
    case backend_attribute::engine_numerical_notes:
      *count = index == 0 ? 1 : 0;
      if (index == 0) std::memcpy(values, &backend_nondeterministic, 4);
      return good;
    case backend_attribute::plan_workspace_size: {
      const auto bytes = static_cast<std::int64_t>(workspace_size);
      std::memcpy(values, &bytes, 8);
      *count = 1;
      return good;
    }
    default:
      return refuse(bad, "no such attribute");
  }
}
cudnn_status cudnnBackendExecute(cudnn_handle handle, backend_handle plan, backend_handle pack) {
  auto& all = state::instance();
  const guarded lock(all.mutex);
  if (const auto failed = enter_cudnn("cudnnBackendExecute"); failed != good) return failed;
  if (all.fails("cudnn_graph")) return cudnn_status::execution_failed;
  const backend_object* const p = referred(plan, backend_kind::execution_plan);
  const backend_object* const v = referred(pack, backend_kind::variant_pack);
  if (p == nullptr || v == nullptr || !is_ready(handle)) return refuse(bad, "plan, pack or handle");
  return execute(handle, *p, *v);
}

}  // extern "C"
#pragma GCC visibility pop
