// SPDX-License-Identifier: BSL-1.0
// A module's parameters and buffers by their names, `fc1.weight`, and back: what PyTorch's functions of these names do.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/io/array.hpp>
#include <kiln/nn/module.hpp>

namespace kiln::io {

namespace detail {

/// A tensor of a module: all of its names, and how it is read and written, wherever it lies.
struct module_tensor {
  std::vector<std::string> names;
  ref<tensor_state> state;
  const nn::detail::tensor_slot slot;
  bool on_host;
};

/// Finds all tensors of a module, each once.
class state_collector final : public nn::detail::path_visitor {
 public:
  std::vector<module_tensor> found;
  void parameter(std::string_view name, const nn::detail::tensor_slot& slot) override { add(name, slot); }
  void buffer(std::string_view name, const nn::detail::tensor_slot& slot) override { add(name, slot); }

 private:
  void add(std::string_view name, const nn::detail::tensor_slot& slot) {
    if (!slot.now) return;
    for (module_tensor& t : found)
      if (t.state.get() == slot.now.get()) {
        t.names.push_back(path_of(name));
        return;
      }
    found.push_back({{path_of(name)}, slot.now, slot, slot.device == &nn::detail::key_of_device<Cpu>});
  }
};
template <class M>
std::vector<module_tensor> tensors_of(const M& module) {
  state_collector all;
  nn::detail::walk("", module, all);
  return std::move(all.found);
}

/// Calls f(tensor) with a tensor of a module that lies on Device.
template <class Device, class F>
void visit_on(const module_tensor& t, F f) {
  if (t.slot.device != &nn::detail::key_of_device<Device>)
    throw device_error(
        message("state_dict: ", t.names[0],
                " lies on another device than the first parameter: nn::to<Device>(module) brings all to one"));
  visit_dtype(t.state->type,
              [&]<class T>(std::type_identity<T>) { f(*static_cast<const Tensor<T, Device>*>(t.slot.tensor)); });
}

/// Writes elements of the same type and shape in place, for whoever shares them.
inline void overwrite(const ref<tensor_state>& to, const array& from) {
  before_overwriting(*to->memory);
  copy_strided(static_cast<char*>(to->data), to->strides, from.data(), from.state()->strides, to->sizes,
               size_of(to->type));
  ++to->memory->version;
}

/// The same numbers as another floating type, rounded once.
inline array converted_to(const array& from, dtype type) {
  const array values = from.contiguous();
  array made(new_tensor(type, from.sizes()));
  // By way of double, which holds all of them, a block at a time.
  std::array<double, 256> block;
  for (std::int64_t at = 0; at < values.numel(); at += 256) {
    const std::int64_t n = std::min<std::int64_t>(256, values.numel() - at);
    visit_dtype(values.dtype(), [&]<class From>(std::type_identity<From>) {
      if constexpr (!is_floating(dtype_of<From>)) return;
      const From* const in = static_cast<const From*>(values.state()->data) + at;
      for (std::int64_t i = 0; i < n; ++i)
        block[static_cast<std::size_t>(i)] = static_cast<double>(static_cast<compute_t<From>>(in[i]));
    });
    visit_dtype(type, [&]<class To>(std::type_identity<To>) {
      To* const out = static_cast<To*>(made.state()->data) + at;
      if constexpr (is_floating(dtype_of<To>))
        for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<To>(block[static_cast<std::size_t>(i)]);
    });
  }
  return made;
}

}  // namespace detail

/// The parameters and buffers of a module by their names, elements shared where they lie on the host. A tensor that
/// stands in two places comes once, under its first name. Throws device_error for tensors on several GPUs' types.
template <class M>
tensor_map state_dict(const M& module) {
  tensor_map all;
  for (const detail::module_tensor& t : detail::tensors_of(module)) {
    if (t.on_host)
      all.emplace(t.names[0], array(t.state));
    else if constexpr (!std::is_same_v<typename nn::detail::tensor_of<M>::device_type, Cpu>)
      detail::visit_on<typename nn::detail::tensor_of<M>::device_type>(
          t, [&](const auto& x) { all.emplace(t.names[0], array(x)); });
  }
  return all;
}

/// How strictly names and types must fit.
struct load_options {
  bool strict = true;    ///< every tensor of the module is there, and no other
  bool convert = false;  ///< floating numbers of another type are rounded to that of the module
};
/// What was not there, and what was there for nothing.
struct load_report {
  std::vector<std::string> missing, unexpected;
};

/// Writes tensors into the parameters and buffers of a module that have their names. A tensor that stands in two places
/// may be under either name. Throws value_error that lists all that is missing, unexpected (unless .strict is false),
/// of another shape or of another element type; the module is then as it was.
template <class M>
load_report load_state_dict(const M& module, const tensor_map& tensors, const load_options& options = {}) {
  const std::vector<detail::module_tensor> wanted = detail::tensors_of(module);
  load_report report;
  std::string misshapen;
  std::vector<const array*> values;
  std::vector<std::string> known;
  for (const detail::module_tensor& t : wanted) {
    const array* value = nullptr;
    for (const std::string& name : t.names) {
      known.push_back(name);
      const auto at = tensors.find(name);
      if (at != tensors.end() && !value) value = &at->second;
    }
    values.push_back(value);
    if (!value) {
      report.missing.push_back(t.names[0]);
      continue;
    }
    if (value->sizes() != t.state->sizes)
      misshapen +=
          message("\n  ", t.names[0], ": the module has shape ", t.state->sizes, ", the file ", value->sizes());
    const bool floats = is_floating(value->dtype()) && is_floating(t.state->type);
    if (value->dtype() != t.state->type && !(options.convert && floats))
      misshapen += message("\n  ", t.names[0], ": the module has ", name(t.state->type), ", the file ",
                           name(value->dtype()), floats ? " (.convert = true rounds it)" : "");
  }
  std::sort(known.begin(), known.end());
  for (const auto& [name, value] : tensors)
    if (!std::binary_search(known.begin(), known.end(), name)) report.unexpected.push_back(name);

  std::string text;
  const auto list = [&](const char* what, const std::vector<std::string>& names) {
    if (names.empty() || !options.strict) return;
    text += what;
    for (const std::string& name : names) text += (&name == &names[0] ? " " : ", ") + name;
  };
  list("\n  missing:", report.missing);
  list("\n  unexpected:", report.unexpected);
  text += misshapen;
  if (!text.empty())
    throw value_error(
        "load_state_dict: these tensors do not fit the module" +
        std::string(options.strict ? " (.strict = false leaves out what is missing or unexpected):" : ":") + text);
  // All memory is there before the first is written.
  std::vector<std::function<void()>> writes;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!values[i]) continue;
    const detail::module_tensor& t = wanted[i];
    const array from =
        values[i]->dtype() == t.state->type ? *values[i] : detail::converted_to(*values[i], t.state->type);
    if (t.on_host)
      writes.emplace_back([&t, from] { detail::overwrite(t.state, from); });
    else if constexpr (!std::is_same_v<typename nn::detail::tensor_of<M>::device_type, Cpu>)
      detail::visit_on<typename nn::detail::tensor_of<M>::device_type>(t, [&]<class X>(X x) {
        writes.emplace_back([x, there = from.as<typename X::value_type>().to(x.device())] { X(x).copy_(there); });
      });
  }
  const no_grad quiet;
  for (const auto& write : writes) write();
  return report;
}

}  // namespace kiln::io
