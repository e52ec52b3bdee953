// SPDX-License-Identifier: BSL-1.0
// Stochastic gradient descent, with momentum, Nesterov's too.
#pragma once

#include <concepts>
#include <tuple>
#include <vector>

#include <kiln/optim/parameter_groups.hpp>

namespace kiln::optim {

/// As torch.optim.SGD's.
struct sgd_options {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;  ///< how much less of the gradient goes into the momentum
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;  ///< climb instead
};

namespace detail {

/// Where the step goes, of placed weights and gradients.
template <class W, class G>
auto sgd_direction(const sgd_options& o, const W& w, const G& gradient) {
  return gradient * (o.maximize ? -1.0 : 1.0) + w * o.weight_decay;
}
/// What the step writes: without momentum, and with it.
template <class W, class G>
auto sgd_values(const sgd_options& o, const W& w, const G& gradient) {
  return std::tuple(w - sgd_direction(o, w, gradient) * o.lr);
}
template <class W, class G, class B>
auto sgd_values(const sgd_options& o, bool first, const W& w, const G& gradient, const B& b) {
  const auto g = sgd_direction(o, w, gradient);
  const auto moved = b * (first ? 0.0 : o.momentum) + g * (first ? 1.0 : 1 - o.dampening);
  // Nesterov's step and the plain one are one kernel with other numbers.
  return std::tuple(w - ((o.nesterov ? 1.0 : 0.0) * g + moved * (o.nesterov ? o.momentum : 1.0)) * o.lr, moved);
}

}  // namespace detail

/// With g the gradient plus weight_decay w: w -= lr g; or with momentum, b = momentum b + (1 - dampening) g, at the
/// first step b = g, and w -= lr b, by Nesterov w -= lr (g + momentum b). State: "momentum_buffer". Throws value_error
/// for options out of range.
template <Element T, class Device = Cpu>
class SGD final : public parameter_groups<T, Device, sgd_options> {
  using base = parameter_groups<T, Device, sgd_options>;

 public:
  using base::base;
  explicit SGD(const std::vector<Tensor<T, Device>>& parameters, const sgd_options& options = {}) {
    this->add_param_group(parameters, options);
  }
  template <std::same_as<parameter_group<T, Device, sgd_options>> Group>
  explicit SGD(const std::vector<Group>& groups) {
    for (const auto& g : groups) this->add_param_group(g.parameters, g.options);
  }

 private:
  void update(typename base::parameter_run& run, sgd_options& o) override {
    if (o.momentum == 0) return run.set(detail::sgd_values(o, run.weights(), run.gradients()));
    const auto b = run.state(detail::first_state, "momentum_buffer");
    run.set(detail::sgd_values(o, run.step() == 1, run.weights(), run.gradients(), b));
  }
  void check(const sgd_options& o) const override {
    detail::check_option("SGD", "lr", o.lr);
    detail::check_option("SGD", "momentum", o.momentum);
    detail::check_option("SGD", "dampening", o.dampening, detail::any_low);
    detail::check_option("SGD", "weight_decay", o.weight_decay);
    if (o.nesterov && (o.momentum <= 0 || o.dampening != 0))
      throw value_error("SGD: .nesterov needs a .momentum above 0, and no .dampening");
  }
};
/// Tensors in braces: `SGD({w, b})`.
template <class T, class Device>
SGD(std::initializer_list<Tensor<T, Device>>, const sgd_options& = {}) -> SGD<T, Device>;
template <class... X>
SGD(const X&...) -> SGD<float, Cpu>;
template <class X>
SGD(const X&, const sgd_options&) -> SGD<float, Cpu>;
template <class T, class Device>
SGD(const std::vector<parameter_group<T, Device, sgd_options>>&) -> SGD<T, Device>;

#ifdef KILN_COMPILED  // in src/models.cpp
extern template class parameter_groups<float, Cpu, sgd_options>;
extern template class SGD<float, Cpu>;
#endif

}  // namespace kiln::optim
