// SPDX-License-Identifier: BSL-1.0
// NAdam: Adam with Nesterov's momentum (Dozat, 2016).
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <vector>

#include <kiln/optim/parameter_groups.hpp>

namespace kiln::optim {

/// As torch.optim.NAdam's.
struct nadam_options {
  double lr = 2e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 4e-3;
  bool decoupled_weight_decay = false;
  bool maximize = false;
};

/// Adam's moments m and v, with mu(t) = betas[0] (1 - 0.96^(t momentum_decay) / 2) and M(t) the product of mu(1) ...
/// mu(t): w -= lr ((1 - mu(t)) / (1 - M(t)) g + mu(t + 1) / (1 - M(t + 1)) m) / (sqrt(v / (1 - betas[1]^t)) + eps).
/// Weight decay is added to the gradient, or taken off the weights if decoupled. State: "exp_avg", "exp_avg_sq". Throws
/// value_error for options out of range.
template <Element T, class Device = Cpu>
class NAdam final : public parameter_groups<T, Device, nadam_options> {
  using base = parameter_groups<T, Device, nadam_options>;

 public:
  using base::base;
  explicit NAdam(const std::vector<Tensor<T, Device>>& parameters, const nadam_options& options = {}) {
    this->add_param_group(parameters, options);
  }
  template <std::same_as<parameter_group<T, Device, nadam_options>> Group>
  explicit NAdam(const std::vector<Group>& groups) {
    for (const auto& g : groups) this->add_param_group(g.parameters, g.options);
  }

 private:
  void update(typename base::parameter_run& run, nadam_options& o) override {
    const auto w = run.weights();
    const auto g = run.gradients() * (o.maximize ? -1.0 : 1.0) + w * (o.decoupled_weight_decay ? 0.0 : o.weight_decay);
    const auto kept = (1 - (o.decoupled_weight_decay ? o.lr * o.weight_decay : 0.0)) * w;
    const double t = static_cast<double>(run.step());
    const auto m = run.state(detail::first_state, "exp_avg");
    const auto v = run.state(detail::second_state, "exp_avg_sq");
    const auto m1 = m + (g - m) * (1 - o.betas[0]);
    const auto v1 = v * o.betas[1] + g * g * (1 - o.betas[1]);
    const auto mu = [&](double step) { return o.betas[0] * (1 - 0.5 * std::pow(0.96, step * o.momentum_decay)); };
    const double product = run.product() * mu(t), next = mu(t + 1);
    run.set_product(product);
    const double of_g = o.lr * (1 - mu(t)) / (1 - product), of_m = o.lr * next / (1 - product * next);
    const double correction = 1 / std::sqrt(1 - std::pow(o.betas[1], t));
    run.set(kept - (g * of_g + m1 * of_m) / (sqrt(v1) * correction + o.eps), m1, v1);
  }
  void check(const nadam_options& o) const override {
    detail::check_option("NAdam", "lr", o.lr);
    detail::check_option("NAdam", "betas[0]", o.betas[0], 0, 1);
    detail::check_option("NAdam", "betas[1]", o.betas[1], 0, 1);
    detail::check_option("NAdam", "eps", o.eps);
    detail::check_option("NAdam", "weight_decay", o.weight_decay);
    detail::check_option("NAdam", "momentum_decay", o.momentum_decay);
  }
};
/// Tensors in braces: `NAdam({w, b})`.
template <class T, class Device>
NAdam(std::initializer_list<Tensor<T, Device>>, const nadam_options& = {}) -> NAdam<T, Device>;
template <class... X>
NAdam(const X&...) -> NAdam<float, Cpu>;
template <class X>
NAdam(const X&, const nadam_options&) -> NAdam<float, Cpu>;
template <class T, class Device>
NAdam(const std::vector<parameter_group<T, Device, nadam_options>>&) -> NAdam<T, Device>;

}  // namespace kiln::optim
