// SPDX-License-Identifier: BSL-1.0
// What an optimizer keeps of one group: its parameters in a flat buffer, how often each was changed, and state by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/optim/flat_memory.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln::optim::detail {

template <Element T, class Device>
std::vector<ref<tensor_state>> states_of(const std::vector<Tensor<T, Device>>& tensors) {
  std::vector<ref<tensor_state>> states;
  states.reserve(tensors.size());
  for (const Tensor<T, Device>& t : tensors) states.push_back(t.state());
  return states;
}

/// Elements [begin, begin + size) of a 1-D tensor.
template <Element T, class Device>
Tensor<T, Device> part_of_flat(const ref<tensor_state>& flat, std::int64_t begin, std::int64_t size) {
  if (begin == 0 && size == flat->sizes[0]) return Tensor<T, Device>(flat);
  ref<tensor_state> part = new_state(dtype_of<T>, {size}, {1});
  part->data = static_cast<T*>(flat->data) + begin;
  part->memory = flat->memory;
  return Tensor<T, Device>(std::move(part));
}

/// How often a parameter was changed, and a product over its steps for those who want one.
struct progress {
  std::int64_t steps = 0;
  double product = 1;
  friend bool operator==(const progress&, const progress&) = default;
};

/// State of a group by name: one flat buffer, laid out as the parameters are.
struct named_state {
  std::string name;
  ref<tensor_state> flat;
};

/// A group of one optimizer. State is of C: float for parameters of half types.
template <Element T, class Device>
struct group_memory {
  using C = compute_t<T>;
  flat_memory memory;
  std::vector<progress> done;
  std::vector<named_state> states;
  std::vector<std::uint32_t> seen;  ///< of half types: the version of each parameter that the master weights are of

  explicit group_memory(const std::vector<Tensor<T, Device>>& parameters)
      : memory(states_of(parameters), *kiln::detail::adding_kernel<T, Device>()), done(parameters.size()) {}

  const ref<tensor_state>* find(std::string_view name) const {
    for (const named_state& s : states)
      if (s.name == name) return &s.flat;
    return nullptr;
  }
  /// The state of this name; made of `value`s at the first step that asks for it.
  const ref<tensor_state>& state(std::string_view name, double value = 0) {
    if (const ref<tensor_state>* known = find(name)) return *known;
    const dims sizes{memory.layout().total()};
    ref<tensor_state> made = kiln::executor<Device>::new_tensor(dtype_of<C>, sizes, *memory.values()->memory);
    if (value == 0)
      kiln::executor<Device>::set_zero(*made);
    else
      kiln::executor<Device>::fill(*made, static_cast<C>(value));
    states.push_back({std::string(name), std::move(made)});
    return states.back().flat;
  }
  /// The part of a state that is parameter i's, in its shape; an empty tensor if there is no such state.
  Tensor<C, Device> state_of(int i, std::string_view name) const {
    const ref<tensor_state>* const flat = find(name);
    if (!flat) return {};
    const dims& sizes = memory.parameter(i)->sizes;
    ref<tensor_state> part = new_state(dtype_of<C>, sizes, contiguous_strides(sizes));
    part->data = static_cast<C*>((*flat)->data) + memory.layout().begins[static_cast<std::size_t>(i)];
    part->memory = (*flat)->memory;
    return Tensor<C, Device>(std::move(part));
  }
};

}  // namespace kiln::optim::detail
