// SPDX-License-Identifier: BSL-1.0
// Adam (Kingma and Ba, 2015), AdamW (Loshchilov and Hutter, 2019), and AMSGrad (Reddi and others, 2018) of both.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <vector>

#include <kiln/optim/parameter_groups.hpp>

namespace kiln::optim {

/// As torch.optim.Adam's.
struct adam_options {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;  ///< added to the gradient
  bool amsgrad = false;     ///< divide by the largest second moment so far
  bool maximize = false;
};
/// As torch.optim.AdamW's.
struct adamw_options {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;  ///< taken off the weights
  bool amsgrad = false;
  bool maximize = false;
};

namespace detail {

template <class Options>
void check_adam(const char* name, const Options& o) {
  check_option(name, "lr", o.lr);
  check_option(name, "betas[0]", o.betas[0], 0, 1);
  check_option(name, "betas[1]", o.betas[1], 0, 1);
  check_option(name, "eps", o.eps);
  check_option(name, "weight_decay", o.weight_decay);
}

/// The step of Adam and AdamW: one decays by `into_gradient`, the other by `off_weights`, and the kernel is the same.
template <class Run, class Options>
void adam_step(Run& run, const Options& o, double into_gradient, double off_weights) {
  const auto w = run.weights();
  const auto m = run.state(detail::first_state, "exp_avg");
  const auto v = run.state(detail::second_state, "exp_avg_sq");
  const double t = static_cast<double>(run.step());
  const double step_size = o.lr / (1 - std::pow(o.betas[0], t));
  const double correction = 1 / std::sqrt(1 - std::pow(o.betas[1], t));
  const auto g = run.gradients() * (o.maximize ? -1.0 : 1.0) + w * into_gradient;
  const auto m1 = m + (g - m) * (1 - o.betas[0]);
  const auto v1 = v * o.betas[1] + g * g * (1 - o.betas[1]);
  const auto kept = (1 - off_weights) * w;
  if (o.amsgrad) {
    const auto most = run.state(detail::third_state, "max_exp_avg_sq");
    const auto most1 = maximum(most, v1);
    run.set(kept - m1 * step_size / (sqrt(most1) * correction + o.eps), m1, v1, most1);
  } else {
    run.set(kept - m1 * step_size / (sqrt(v1) * correction + o.eps), m1, v1);
  }
}

}  // namespace detail

/// With g the gradient plus weight_decay w, and t the number of the step: m += (1 - betas[0]) (g - m),
/// v = betas[1] v + (1 - betas[1]) g^2, w -= lr m / (1 - betas[0]^t) / (sqrt(v / (1 - betas[1]^t)) + eps). State:
/// "exp_avg" is m, "exp_avg_sq" v, "max_exp_avg_sq" the largest v. Throws value_error for options out of range.
template <Element T, class Device = Cpu>
class Adam final : public parameter_groups<T, Device, adam_options> {
  using base = parameter_groups<T, Device, adam_options>;

 public:
  using base::base;
  explicit Adam(const std::vector<Tensor<T, Device>>& parameters, const adam_options& options = {}) {
    this->add_param_group(parameters, options);
  }
  template <std::same_as<parameter_group<T, Device, adam_options>> Group>
  explicit Adam(const std::vector<Group>& groups) {
    for (const auto& g : groups) this->add_param_group(g.parameters, g.options);
  }

 private:
  void update(typename base::parameter_run& run, adam_options& o) override {
    detail::adam_step(run, o, o.weight_decay, 0);
  }
  void check(const adam_options& o) const override { detail::check_adam("Adam", o); }
};
/// Tensors in braces: `Adam({w, b})`.
template <class T, class Device>
Adam(std::initializer_list<Tensor<T, Device>>, const adam_options& = {}) -> Adam<T, Device>;
template <class... X>
Adam(const X&...) -> Adam<float, Cpu>;
template <class X>
Adam(const X&, const adam_options&) -> Adam<float, Cpu>;
template <class T, class Device>
Adam(const std::vector<parameter_group<T, Device, adam_options>>&) -> Adam<T, Device>;

/// Adam whose weight decay does not go through the moments: w *= 1 - lr weight_decay before the step.
template <Element T, class Device = Cpu>
class AdamW final : public parameter_groups<T, Device, adamw_options> {
  using base = parameter_groups<T, Device, adamw_options>;

 public:
  using base::base;
  explicit AdamW(const std::vector<Tensor<T, Device>>& parameters, const adamw_options& options = {}) {
    this->add_param_group(parameters, options);
  }
  template <std::same_as<parameter_group<T, Device, adamw_options>> Group>
  explicit AdamW(const std::vector<Group>& groups) {
    for (const auto& g : groups) this->add_param_group(g.parameters, g.options);
  }

 private:
  void update(typename base::parameter_run& run, adamw_options& o) override {
    detail::adam_step(run, o, 0, o.lr * o.weight_decay);
  }
  void check(const adamw_options& o) const override { detail::check_adam("AdamW", o); }
};
/// Tensors in braces: `AdamW({w, b})`.
template <class T, class Device>
AdamW(std::initializer_list<Tensor<T, Device>>, const adamw_options& = {}) -> AdamW<T, Device>;
template <class... X>
AdamW(const X&...) -> AdamW<float, Cpu>;
template <class X>
AdamW(const X&, const adamw_options&) -> AdamW<float, Cpu>;
template <class T, class Device>
AdamW(const std::vector<parameter_group<T, Device, adamw_options>>&) -> AdamW<T, Device>;

}  // namespace kiln::optim
