// SPDX-License-Identifier: BSL-1.0
// Tensors from one device to another: x.to<Cuda>() and back. Gradients go the other way.
#pragma once

#include <concepts>
#include <utility>

#include <kiln/tensor/op_node.hpp>
#include <kiln/tensor/recorder.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

namespace detail {

/// Finds the first tensor of an expression.
struct first_tensor {
  template <Leaf X>
  static const auto& of(const X& x) {
    return x;
  }
  template <class A, class B>
  static const auto& of(const product<A, B>& x) {
    return x.a;
  }
  template <class Op, class A>
  static const auto& of(const row_node<Op, A>& x) {
    return of(x.a);
  }
  template <class Op, class... X>
  static const auto& of(const node<Op, X...>& x) {
    if constexpr (!std::same_as<typename decltype(x.a)::device_type, any_device>)
      return of(x.a);
    else if constexpr (!std::same_as<typename decltype(x.b)::device_type, any_device>)
      return of(x.b);
    else
      return of(x.c);
  }
};

/// The device of an expression: that of its first tensor.
template <Expression X>
auto device_of(const X& x) {
  return first_tensor::of(x).device();
}

/// Takes the gradient of a copy on another device back to where the original is.
template <class T, class From, class To>
class transfer_node final : public op_node_of<1> {
 public:
  explicit transfer_node(const tensor_state& original)
      : op_node_of(functions_of<From>), home_(executor<From>::device_of(*original.memory)) {
    input[0] = original.autograd_metadata;
    stay_walkable();
  }
  void backward(const ref<tensor_state>& gradient) override {
    const Tensor<T, To> there(gradient);
    hand_over_gradient(*adding_kernel<T, From>(),
                       moved_to<To>(there.contiguous_layout() ? gradient : there.clone().state(), home_), *input[0]);
  }
  [[gnu::cold]] void backward_recorded(const ref<tensor_state>& gradient, const ref<gradient_record>&) override {
    the_recorder().add(*input[0], Tensor<T, To>(gradient).template to<From>(home_).state(), device());
  }

 private:
  From home_;
};

}  // namespace detail

/// The values as another element type, `x.to<double>()`: cast<double>(x), evaluated. Or
/// the values on a device, `x.to<Cuda>()` or `x.to(Cuda{1})`: this tensor if it is there, else a contiguous copy. A
/// copy to a GPU does not wait for it, one to the host does. Between devices with the host's memory (Cpu, EigenCpu)
/// nothing is copied: it is the same tensor, with the same gradient. Throws memory_error, device_error.
template <Element T, class Device, class Extents>
template <class To>
auto Tensor<T, Device, Extents>::to([[maybe_unused]] To where) const {
  if constexpr (Element<To>) {
    return Tensor<To, Device>(cast<To>(*this));
  } else if constexpr (!std::is_class_v<To> || Expression<To> || !HasExecutor<To>) {
    static_assert(detail::never<To>,
                  "kiln: x.to<...>() takes a device, x.to<Cuda>() (from kiln/cuda.hpp), or an element type, "
                  "x.to<double>(): both are part of a tensor's type, and none can be chosen by a value or a text");
    return *this;
  } else if constexpr (OnHost<Device> && OnHost<To>) {
    return Tensor<T, To>(state());
  } else {
    if constexpr (std::same_as<Device, To>)
      if (device() == where) return *this;
    ref<tensor_state> moved = [&] {
      const no_grad quiet;
      return detail::moved_to<Device>(contiguous_layout() ? state() : clone().state(), where);
    }();
    if constexpr (is_floating(dtype_of<T>)) {
      if (needs_grad() && grad_enabled())
        detail::set_producer(*moved, new detail::transfer_node<T, Device, To>(*state()));
    }
    return Tensor<T, To>(std::move(moved));
  }
}

template <class E>
template <class To>
auto expression_methods<E>::to(To where) const {
  return this->eval().to(where);
}

}  // namespace kiln
