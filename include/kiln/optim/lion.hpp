// SPDX-License-Identifier: BSL-1.0
// Lion: steps by the sign of a momentum (Chen and others, 2023, arXiv 2302.06675, algorithm 2).
#pragma once

#include <array>
#include <concepts>
#include <vector>

#include <kiln/optim/parameter_groups.hpp>

namespace kiln::optim {

/// The paper's; PyTorch has no Lion.
struct lion_options {
  double lr = 1e-4;
  std::array<double, 2> betas{0.9, 0.99};
  double weight_decay = 0;
  bool maximize = false;
};

/// With g the gradient: w -= lr (sign(betas[0] m + (1 - betas[0]) g) + weight_decay w), m = betas[1] m + (1 - betas[1])
/// g. State: "exp_avg" is m. Throws value_error for options out of range.
template <Element T, class Device = Cpu>
class Lion final : public parameter_groups<T, Device, lion_options> {
  using base = parameter_groups<T, Device, lion_options>;

 public:
  using base::base;
  explicit Lion(const std::vector<Tensor<T, Device>>& parameters, const lion_options& options = {}) {
    this->add_param_group(parameters, options);
  }
  template <std::same_as<parameter_group<T, Device, lion_options>> Group>
  explicit Lion(const std::vector<Group>& groups) {
    for (const auto& g : groups) this->add_param_group(g.parameters, g.options);
  }

 private:
  void update(typename base::parameter_run& run, lion_options& o) override {
    const auto w = run.weights();
    const auto g = run.gradients() * (o.maximize ? -1.0 : 1.0);
    const auto m = run.state(detail::first_state, "exp_avg");
    run.set(w - (sign(m * o.betas[0] + g * (1 - o.betas[0])) + w * o.weight_decay) * o.lr,
            m + (g - m) * (1 - o.betas[1]));
  }
  void check(const lion_options& o) const override {
    detail::check_option("Lion", "lr", o.lr);
    detail::check_option("Lion", "betas[0]", o.betas[0], 0, 1);
    detail::check_option("Lion", "betas[1]", o.betas[1], 0, 1);
    detail::check_option("Lion", "weight_decay", o.weight_decay);
  }
};
/// Tensors in braces: `Lion({w, b})`.
template <class T, class Device>
Lion(std::initializer_list<Tensor<T, Device>>, const lion_options& = {}) -> Lion<T, Device>;
template <class... X>
Lion(const X&...) -> Lion<float, Cpu>;
template <class X>
Lion(const X&, const lion_options&) -> Lion<float, Cpu>;
template <class T, class Device>
Lion(const std::vector<parameter_group<T, Device, lion_options>>&) -> Lion<T, Device>;

}  // namespace kiln::optim
