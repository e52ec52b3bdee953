// SPDX-License-Identifier: BSL-1.0
// Adam (Kingma and Ba, 2015), AdamW (Loshchilov and Hutter, 2019), and AMSGrad (Reddi and others, 2018) of both.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <tuple>
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

/// The numbers of a step of Adam and AdamW: one decays by `into_gradient`, the other by `off_weights`, and the kernel
/// is the same.
struct adam_numbers {
  double into_gradient = 0, off_weights = 0;
  double sign = 1;  ///< of the gradient
  std::array<double, 2> betas{};
  double step_size = 0, correction = 1, eps = 0;
};
/// What the step writes, of placed tensors; with AMSGrad's largest second moment, also that.
template <class W, class G, class M, class V, class... Most>
auto adam_values(const adam_numbers& k, const W& w, const G& gradient, const M& m, const V& v, const Most&... most) {
  const auto g = gradient * k.sign + w * k.into_gradient;
  const auto m1 = m + (g - m) * (1 - k.betas[0]);
  const auto v1 = v * k.betas[1] + g * g * (1 - k.betas[1]);
  const auto moved = [&](const auto& moment) {
    return (1 - k.off_weights) * w - m1 * k.step_size / (sqrt(moment) * k.correction + k.eps);
  };
  if constexpr (sizeof...(Most) > 0)
    return std::tuple(moved(maximum(most..., v1)), m1, v1, maximum(most..., v1));
  else
    return std::tuple(moved(v1), m1, v1);
}

template <class Run, class Options>
void adam_step(Run& run, const Options& o, double into_gradient, double off_weights) {
  const auto m = run.state(detail::first_state, "exp_avg");
  const auto v = run.state(detail::second_state, "exp_avg_sq");
  const double t = static_cast<double>(run.step());
  const adam_numbers k{.into_gradient = into_gradient,
                       .off_weights = off_weights,
                       .sign = o.maximize ? -1.0 : 1.0,
                       .betas = o.betas,
                       .step_size = o.lr / (1 - std::pow(o.betas[0], t)),
                       .correction = 1 / std::sqrt(1 - std::pow(o.betas[1], t)),
                       .eps = o.eps};
  if (o.amsgrad)
    run.set(adam_values(k, run.weights(), run.gradients(), m, v, run.state(detail::third_state, "max_exp_avg_sq")));
  else
    run.set(adam_values(k, run.weights(), run.gradients(), m, v));
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

#ifdef KILN_COMPILED  // in src/models.cpp
extern template class parameter_groups<float, Cpu, adam_options>;
extern template class Adam<float, Cpu>;
extern template class parameter_groups<float, Cpu, adamw_options>;
extern template class AdamW<float, Cpu>;
#endif

}  // namespace kiln::optim
