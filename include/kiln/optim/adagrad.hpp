// SPDX-License-Identifier: BSL-1.0
// Adagrad (Duchi and others, 2011).
#pragma once

#include <concepts>
#include <vector>

#include <kiln/optim/parameter_groups.hpp>

namespace kiln::optim {

/// As torch.optim.Adagrad's.
struct adagrad_options {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
  bool maximize = false;
};

/// With g the gradient plus weight_decay w, and t the number of the step: s += g^2,
/// w -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps). State: "sum" is s. Throws value_error for options out of
/// range.
template <Element T, class Device = Cpu>
class Adagrad final : public parameter_groups<T, Device, adagrad_options> {
  using base = parameter_groups<T, Device, adagrad_options>;

 public:
  using base::base;
  explicit Adagrad(const std::vector<Tensor<T, Device>>& parameters, const adagrad_options& options = {}) {
    this->add_param_group(parameters, options);
  }
  template <std::same_as<parameter_group<T, Device, adagrad_options>> Group>
  explicit Adagrad(const std::vector<Group>& groups) {
    for (const auto& g : groups) this->add_param_group(g.parameters, g.options);
  }

 private:
  void update(typename base::parameter_run& run, adagrad_options& o) override {
    const auto w = run.weights();
    const auto g = run.gradients() * (o.maximize ? -1.0 : 1.0) + w * o.weight_decay;
    const auto s = run.state(detail::first_state, "sum", o.initial_accumulator_value);
    const double rate = o.lr / (1 + static_cast<double>(run.step() - 1) * o.lr_decay);
    const auto s1 = s + g * g;
    run.set(w - g * rate / (sqrt(s1) + o.eps), s1);
  }
  void check(const adagrad_options& o) const override {
    detail::check_option("Adagrad", "lr", o.lr);
    detail::check_option("Adagrad", "lr_decay", o.lr_decay);
    detail::check_option("Adagrad", "weight_decay", o.weight_decay);
    detail::check_option("Adagrad", "initial_accumulator_value", o.initial_accumulator_value);
    detail::check_option("Adagrad", "eps", o.eps);
  }
};
/// Tensors in braces: `Adagrad({w, b})`.
template <class T, class Device>
Adagrad(std::initializer_list<Tensor<T, Device>>, const adagrad_options& = {}) -> Adagrad<T, Device>;
template <class... X>
Adagrad(const X&...) -> Adagrad<float, Cpu>;
template <class X>
Adagrad(const X&, const adagrad_options&) -> Adagrad<float, Cpu>;
template <class T, class Device>
Adagrad(const std::vector<parameter_group<T, Device, adagrad_options>>&) -> Adagrad<T, Device>;

}  // namespace kiln::optim
