// SPDX-License-Identifier: BSL-1.0
// checkpoint(f, inputs...): a part of a model that keeps nothing for its backward pass but its inputs, and is computed
// a second time when the pass comes to it (Chen, Xu, Zhang, Guestrin: "Training deep nets with sublinear memory cost",
// 2016).
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <kiln/autograd/backward.hpp>
#include <kiln/core/philox.hpp>
#include <kiln/tensor/op_node.hpp>

namespace kiln {

namespace detail {

// The default generator at an earlier place, for a scope.
class drawing_again {
 public:
  explicit drawing_again(const random_stream& from) : before_(default_generator().state()) {
    default_generator().set_state(from);
  }
  drawing_again(const drawing_again&) = delete;
  drawing_again& operator=(const drawing_again&) = delete;
  ~drawing_again() { default_generator().set_state(before_); }

 private:
  random_stream before_;
};

template <class F, class Result, class... X>
class checkpoint_node final : public op_node_of<sizeof...(X), sizeof...(X)> {
  using base = op_node_of<sizeof...(X), sizeof...(X)>;
  template <class T, class Device>
  static constexpr const device_functions& functions_for(const Tensor<T, Device>*) {
    return functions_of<Device>;
  }

 public:
  checkpoint_node(F f, const random_stream& drawn, const X&... x)
      : base(functions_for(static_cast<const Result*>(nullptr))), f_(std::move(f)), drawn_(drawn), x_(x.detach()...) {
    std::size_t i = 0;
    (static_cast<void>(this->input[i] = x.state()->autograd_metadata, this->saved[i++].save(*x.state())), ...);
  }
  const char* name() const override { return "checkpoint"; }
  void backward(const ref<tensor_state>& gradient) override {
    this->check_saved(*gradient->memory);
    auto own = std::apply([](const X&... x) { return std::tuple<X...>(x.detach()...); }, x_);
    each(own, [&](auto& x, std::size_t i) {
      if constexpr (is_floating(std::remove_reference_t<decltype(x)>::dtype()))
        if (this->wants(static_cast<int>(i))) x.requires_grad();
    });
    {
      const drawing_again same(drawn_);
      const recording_scope on(true);
      const Result y(std::apply(f_, own));
      if (y.needs_grad()) kiln::backward(y, Result(gradient));
    }
    each(own, [&]<class T, class Device>(Tensor<T, Device>& x, std::size_t i) {
      if constexpr (is_floating(dtype_of<T>))
        if (this->wants(static_cast<int>(i)) && x.has_grad())
          add_to_gradient(*adding_kernel<T, Device>(), *x.grad().state(), *this->input[i]);
    });
  }

 private:
  void forget() override { x_ = {}; }
  template <class Tuple, class G>
  static void each(Tuple& all, G g) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (g(std::get<I>(all), I), ...);
    }
    (std::index_sequence_for<X...>{});
  }

  F f_;
  random_stream drawn_;
  std::tuple<X...> x_;
};

}  // namespace detail

/// f(inputs...), a tensor or expression, as a tensor that keeps the inputs only: its backward pass calls f again. What
/// f uses besides its inputs (parameters that it captures) gets its gradients too. f must give the same again: random
/// numbers of the default generator are drawn from the same place. There is no second derivative through it, and grad()
/// knows of the inputs only. Throws what f throws; graph_error in the backward pass if an input was changed in place.
template <class F, class... T, class Device>
auto checkpoint(F f, const Tensor<T, Device>&... inputs) {
  static_assert(!detail::any_transformed<Tensor<T, Device>...>,
                "kiln: checkpoint has no meaning within vmap and jvp: call f itself there, or checkpoint around them");
  const random_stream drawn = default_generator().state();
  auto y = [&] {
    const no_grad quiet;
    return detail::untracked(f(inputs...));
  }();
  if (!grad_enabled()) return y;
  y = y.detach();  // f may give one of its inputs
  detail::set_producer(
      *y.state(), new detail::checkpoint_node<F, decltype(y), Tensor<T, Device>...>(std::move(f), drawn, inputs...));
  return y;
}

}  // namespace kiln
