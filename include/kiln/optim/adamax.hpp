// SPDX-License-Identifier: BSL-1.0
// Adamax: Adam by the largest gradient (Kingma and Ba, 2015, section 7).
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <vector>

#include <kiln/optim/parameter_groups.hpp>

namespace kiln::optim {

/// As torch.optim.Adamax's.
struct adamax_options {
  double lr = 2e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool maximize = false;
};

/// With g the gradient plus weight_decay w, and t the number of the step: m += (1 - betas[0]) (g - m),
/// u = max(betas[1] u, |g| + eps), w -= lr / (1 - betas[0]^t) m / u. State: "exp_avg" is m, "exp_inf" u. Throws
/// value_error for options out of range.
template <Element T, class Device = Cpu>
class Adamax final : public parameter_groups<T, Device, adamax_options> {
  using base = parameter_groups<T, Device, adamax_options>;

 public:
  using base::base;
  explicit Adamax(const std::vector<Tensor<T, Device>>& parameters, const adamax_options& options = {}) {
    this->add_param_group(parameters, options);
  }
  template <std::same_as<parameter_group<T, Device, adamax_options>> Group>
  explicit Adamax(const std::vector<Group>& groups) {
    for (const auto& g : groups) this->add_param_group(g.parameters, g.options);
  }

 private:
  void update(typename base::parameter_run& run, adamax_options& o) override {
    const auto w = run.weights();
    const auto g = run.gradients() * (o.maximize ? -1.0 : 1.0) + w * o.weight_decay;
    const auto m = run.state(detail::first_state, "exp_avg");
    const auto u = run.state(detail::second_state, "exp_inf");
    const auto m1 = m + (g - m) * (1 - o.betas[0]);
    const auto u1 = maximum(u * o.betas[1], abs(g) + o.eps);
    run.set(w - m1 * (o.lr / (1 - std::pow(o.betas[0], static_cast<double>(run.step())))) / u1, m1, u1);
  }
  void check(const adamax_options& o) const override {
    detail::check_option("Adamax", "lr", o.lr);
    detail::check_option("Adamax", "betas[0]", o.betas[0], 0, 1);
    detail::check_option("Adamax", "betas[1]", o.betas[1], 0, 1);
    detail::check_option("Adamax", "eps", o.eps);
    detail::check_option("Adamax", "weight_decay", o.weight_decay);
  }
};
/// Tensors in braces: `Adamax({w, b})`.
template <class T, class Device>
Adamax(std::initializer_list<Tensor<T, Device>>, const adamax_options& = {}) -> Adamax<T, Device>;
template <class... X>
Adamax(const X&...) -> Adamax<float, Cpu>;
template <class X>
Adamax(const X&, const adamax_options&) -> Adamax<float, Cpu>;
template <class T, class Device>
Adamax(const std::vector<parameter_group<T, Device, adamax_options>>&) -> Adamax<T, Device>;

}  // namespace kiln::optim
