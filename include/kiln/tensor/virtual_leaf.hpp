// SPDX-License-Identifier: BSL-1.0
// Leaves that look like tensors to everything that walks expressions, and are none: where elements lie, for ops that
// take them by index (ops/take.hpp); and random numbers, which are made where they are used.
#pragma once

#include <cstdint>
#include <utility>

#include <kiln/core/philox.hpp>
#include <kiln/expr/node.hpp>
#include <kiln/tape/instruction.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln::detail {

template <Element T, class Device, leaf_kind Kind>
class virtual_leaf {
 public:
  using operand = void;
  using leaf = void;
  using value_type = T;
  using device_type = Device;
  static constexpr leaf_kind kind = Kind;

  explicit virtual_leaf(ref<tensor_state> state) : state_(std::move(state)) {}
  const ref<tensor_state>& state() const { return state_; }
  const dims& sizes() const { return state_->sizes; }
  Device device() const { return executor<Device>::device_of(*state_->memory); }
  void note_moment() { wanted_ = moment(*state_->memory); }
  const moment& wanted() const { return wanted_; }

 private:
  ref<tensor_state> state_;
  moment wanted_;
};

/// The state says where each position lies; its gradient is that of what is taken from there, position by position.
template <Element T, class Device>
using element_place = virtual_leaf<T, Device, leaf_kind::address>;

/// Random numbers of a stream, one per position; `state` says where in it each lies, as if they were in memory at
/// `random_places`.
template <Element T, class Device, leaf_kind Kind>
class drawn : public virtual_leaf<T, Device, Kind> {
 public:
  drawn(const dims& sizes, Device where, const random_stream& stream)
      : virtual_leaf<T, Device, Kind>(placed(sizes, where)), stream_(stream) {}
  const random_stream& stream() const { return stream_; }

 private:
  static ref<tensor_state> placed(const dims& sizes, Device where) {
    ref<tensor_state> state = new_state(dtype_of<T>, sizes, contiguous_strides(sizes));
    state->memory = executor<Device>::new_tensor(dtype_of<T>, {0}, where)->memory;  // says only which device it is
    state->data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(random_places));
    return state;
  }
  random_stream stream_;
};

}  // namespace kiln::detail
