// SPDX-License-Identifier: BSL-1.0
// LAMB: Adam whose step has the length of the tensor that it changes (You and others, 2020, arXiv 1904.00962).
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <vector>

#include <kiln/optim/parameter_groups.hpp>

namespace kiln::optim {

/// The paper's, with Adam's bias correction; PyTorch has no LAMB.
struct lamb_options {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-6;
  double weight_decay = 0;
  bool maximize = false;
};

/// Adam's moments m and v of the gradient, and for each tensor u = m / (1 - betas[0]^t) / (sqrt(v / (1 - betas[1]^t)) +
/// eps)
/// + weight_decay w, w -= lr |w| / |u| u, with 1 in place of |w| / |u| where one of them is 0. State: "exp_avg" is m,
/// "exp_avg_sq" v. One kernel moves the moments of all tensors, two are needed for each tensor, since each has lengths
/// of its own. Throws value_error for options out of range.
template <Element T, class Device = Cpu>
class Lamb final : public parameter_groups<T, Device, lamb_options> {
  using base = parameter_groups<T, Device, lamb_options>;

 public:
  using base::base;
  explicit Lamb(const std::vector<Tensor<T, Device>>& parameters, const lamb_options& options = {}) {
    this->add_param_group(parameters, options);
  }
  template <std::same_as<parameter_group<T, Device, lamb_options>> Group>
  explicit Lamb(const std::vector<Group>& groups) {
    for (const auto& g : groups) this->add_param_group(g.parameters, g.options);
  }

 private:
  void update(typename base::parameter_run& run, lamb_options& o) override {
    const double t = static_cast<double>(run.step());
    const double first = 1 / (1 - std::pow(o.betas[0], t)), second = 1 / std::sqrt(1 - std::pow(o.betas[1], t));
    {
      const auto m = run.state(detail::first_state, "exp_avg");
      const auto v = run.state(detail::second_state, "exp_avg_sq");
      const auto g = run.gradients() * (o.maximize ? -1.0 : 1.0);
      run.set_states(m + (g - m) * (1 - o.betas[0]), v * o.betas[1] + g * g * (1 - o.betas[1]));
    }
    for (int i = run.which().first; i < run.which().last; ++i) {
      auto one = run.only(i);
      const auto w = one.weights();
      const auto m = one.state(detail::first_state, "exp_avg");
      const auto v = one.state(detail::second_state, "exp_avg_sq");
      const auto u = m * first / (sqrt(v) * second + o.eps) + w * o.weight_decay;
      const Tensor<typename base::state_type, Device> length = sqrt(sum(w * w)), of_step = sqrt(sum(u * u));
      one.set(w - u * (where((length > 0) & (of_step > 0), length / of_step, 1) * o.lr));
    }
  }
  void check(const lamb_options& o) const override {
    detail::check_option("Lamb", "lr", o.lr);
    detail::check_option("Lamb", "betas[0]", o.betas[0], 0, 1);
    detail::check_option("Lamb", "betas[1]", o.betas[1], 0, 1);
    detail::check_option("Lamb", "eps", o.eps);
    detail::check_option("Lamb", "weight_decay", o.weight_decay);
  }
};
/// Tensors in braces: `Lamb({w, b})`.
template <class T, class Device>
Lamb(std::initializer_list<Tensor<T, Device>>, const lamb_options& = {}) -> Lamb<T, Device>;
template <class... X>
Lamb(const X&...) -> Lamb<float, Cpu>;
template <class X>
Lamb(const X&, const lamb_options&) -> Lamb<float, Cpu>;
template <class T, class Device>
Lamb(const std::vector<parameter_group<T, Device, lamb_options>>&) -> Lamb<T, Device>;

}  // namespace kiln::optim
