// SPDX-License-Identifier: BSL-1.0
// RMSprop (Hinton, 2012; centered: Graves, 2013), with momentum.
#pragma once

#include <concepts>
#include <vector>

#include <kiln/optim/parameter_groups.hpp>

namespace kiln::optim {

/// As torch.optim.RMSprop's.
struct rmsprop_options {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
  bool maximize = false;
};

/// With g the gradient plus weight_decay w: s = alpha s + (1 - alpha) g^2 and u = g / (sqrt(s) + eps); `centered` takes
/// off s the square of a = alpha a + (1 - alpha) g before the root; w -= lr u, or with momentum, b = momentum b + u and
/// w -= lr b. State: "square_avg" is s, "grad_avg" a, "momentum_buffer" b. Throws value_error for options out of range.
template <Element T, class Device = Cpu>
class RMSprop final : public parameter_groups<T, Device, rmsprop_options> {
  using base = parameter_groups<T, Device, rmsprop_options>;

 public:
  using base::base;
  explicit RMSprop(const std::vector<Tensor<T, Device>>& parameters, const rmsprop_options& options = {}) {
    this->add_param_group(parameters, options);
  }
  template <std::same_as<parameter_group<T, Device, rmsprop_options>> Group>
  explicit RMSprop(const std::vector<Group>& groups) {
    for (const auto& g : groups) this->add_param_group(g.parameters, g.options);
  }

 private:
  void update(typename base::parameter_run& run, rmsprop_options& o) override {
    const auto w = run.weights();
    const auto g = run.gradients() * (o.maximize ? -1.0 : 1.0) + w * o.weight_decay;
    const auto s = run.state(detail::first_state, "square_avg");
    const auto s1 = s * o.alpha + g * g * (1 - o.alpha);
    if (!o.centered) return finish(run, o, g / (sqrt(s1) + o.eps), s1);
    const auto a = run.state(detail::second_state, "grad_avg");
    const auto a1 = a + (g - a) * (1 - o.alpha);
    finish(run, o, g / (sqrt(s1 - a1 * a1) + o.eps), s1, a1);
  }
  // The step by u, along with new states.
  template <class U, class... E>
  static void finish(typename base::parameter_run& run, const rmsprop_options& o, const U& u, const E&... values) {
    if (o.momentum == 0) return run.set(run.weights() - u * o.lr, values...);
    const auto b = run.state(std::integral_constant<int, sizeof...(E)>{}, "momentum_buffer");
    const auto b1 = b * o.momentum + u;
    run.set(run.weights() - b1 * o.lr, values..., b1);
  }
  void check(const rmsprop_options& o) const override {
    detail::check_option("RMSprop", "lr", o.lr);
    detail::check_option("RMSprop", "alpha", o.alpha);
    detail::check_option("RMSprop", "eps", o.eps);
    detail::check_option("RMSprop", "weight_decay", o.weight_decay);
    detail::check_option("RMSprop", "momentum", o.momentum);
  }
};
/// Tensors in braces: `RMSprop({w, b})`.
template <class T, class Device>
RMSprop(std::initializer_list<Tensor<T, Device>>, const rmsprop_options& = {}) -> RMSprop<T, Device>;
template <class... X>
RMSprop(const X&...) -> RMSprop<float, Cpu>;
template <class X>
RMSprop(const X&, const rmsprop_options&) -> RMSprop<float, Cpu>;
template <class T, class Device>
RMSprop(const std::vector<parameter_group<T, Device, rmsprop_options>>&) -> RMSprop<T, Device>;

}  // namespace kiln::optim
