// SPDX-License-Identifier: BSL-1.0
// x.on_gradient(f): f sees the gradient of x in each backward pass once it is complete, and may put another in its
// place. Of a leaf, that is when the last node that adds to it has run, while the pass goes on elsewhere.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/autograd/backward.hpp>
#include <kiln/autograd/pass_watch.hpp>

namespace kiln {

/// A registered hook; it stays registered when this ends.
class gradient_hook_handle {
 public:
  gradient_hook_handle() = default;
  gradient_hook_handle(ref<gradient_record> record, std::uint64_t number)
      : record_(std::move(record)), number_(number) {}
  /// The hook is not called any more. A second call does nothing.
  void remove();

 private:
  ref<gradient_record> record_;
  std::uint64_t number_ = 0;
};

namespace detail {

gradient_hook_handle add_hook(const ref<gradient_record>& record, std::unique_ptr<gradient_hook> hook);

template <Element T, class Device, class F>
struct gradient_hook_of final : gradient_hook {
  F f;
  explicit gradient_hook_of(F function) : f(std::move(function)) { add = adding_kernel<T, Device>(); }
  ref<tensor_state> call(const ref<tensor_state>& gradient) override {
    const Tensor<T, Device> g(gradient);
    if constexpr (std::is_void_v<decltype(f(g))>) {
      f(g);
      return nullptr;
    } else {
      return Tensor<T, Device>(f(g)).state();
    }
  }
};

}  // namespace detail

template <Element T, class Device, class Extents>
template <class F>
gradient_hook_handle Tensor<T, Device, Extents>::on_gradient(F f) const {
  static_assert(is_floating(dtype_of<T>), "kiln: only tensors of a floating type have gradients");
  if (!needs_grad())
    throw graph_error(
        "on_gradient: this tensor does not require grad: call requires_grad() on it, or on one before "
        "computing it from that");
  return detail::add_hook(state()->autograd_metadata,
                          std::make_unique<detail::gradient_hook_of<T, Device, F>>(std::move(f)));
}

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/autograd/hooks_impl.hpp>
#endif
