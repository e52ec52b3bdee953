// SPDX-License-Identifier: BSL-1.0
// RAdam: Adam that waits until its second moment is known (Liu and others, 2020).
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <vector>

#include <kiln/optim/parameter_groups.hpp>

namespace kiln::optim {

/// As torch.optim.RAdam's.
struct radam_options {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled_weight_decay = false;
  bool maximize = false;
};

/// Adam's moments m and v; with r = 2 / (1 - betas[1]) - 1 and r(t) = r - 2 t betas[1]^t / (1 - betas[1]^t), once
/// r(t) > 5: w -= lr m / (1 - betas[0]^t) sqrt(1 - betas[1]^t) / (sqrt(v) + eps)
/// sqrt((r(t) - 4) (r(t) - 2) r / ((r - 4) (r - 2) r(t))); before that w -= lr m / (1 - betas[0]^t). Weight decay is
/// added to the gradient, or taken off the weights if decoupled. State: "exp_avg", "exp_avg_sq". Throws value_error for
/// options out of range.
template <Element T, class Device = Cpu>
class RAdam final : public parameter_groups<T, Device, radam_options> {
  using base = parameter_groups<T, Device, radam_options>;

 public:
  using base::base;
  explicit RAdam(const std::vector<Tensor<T, Device>>& parameters, const radam_options& options = {}) {
    this->add_param_group(parameters, options);
  }
  template <std::same_as<parameter_group<T, Device, radam_options>> Group>
  explicit RAdam(const std::vector<Group>& groups) {
    for (const auto& g : groups) this->add_param_group(g.parameters, g.options);
  }

 private:
  void update(typename base::parameter_run& run, radam_options& o) override {
    const auto w = run.weights();
    const auto g = run.gradients() * (o.maximize ? -1.0 : 1.0) + w * (o.decoupled_weight_decay ? 0.0 : o.weight_decay);
    const auto kept = (1 - (o.decoupled_weight_decay ? o.lr * o.weight_decay : 0.0)) * w;
    const double t = static_cast<double>(run.step());
    const auto m = run.state(detail::first_state, "exp_avg");
    const auto v = run.state(detail::second_state, "exp_avg_sq");
    const auto m1 = m + (g - m) * (1 - o.betas[0]);
    const auto v1 = v * o.betas[1] + g * g * (1 - o.betas[1]);
    const double power = std::pow(o.betas[1], t), longest = 2 / (1 - o.betas[1]) - 1;
    const double length = longest - 2 * t * power / (1 - power);
    const bool known = length > 5;
    double rate = o.lr / (1 - std::pow(o.betas[0], t));
    if (known)
      rate *= std::sqrt((1 - power) * (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
    // One kernel for both: before the second moment is known it divides by 0 sqrt(v) + 1.
    run.set(kept - m1 * rate / (sqrt(v1) * (known ? 1.0 : 0.0) + (known ? o.eps : 1.0)), m1, v1);
  }
  void check(const radam_options& o) const override {
    detail::check_option("RAdam", "lr", o.lr);
    detail::check_option("RAdam", "betas[0]", o.betas[0], 0, 1);
    detail::check_option("RAdam", "betas[1]", o.betas[1], 0, 1);
    detail::check_option("RAdam", "eps", o.eps);
    detail::check_option("RAdam", "weight_decay", o.weight_decay);
  }
};
/// Tensors in braces: `RAdam({w, b})`.
template <class T, class Device>
RAdam(std::initializer_list<Tensor<T, Device>>, const radam_options& = {}) -> RAdam<T, Device>;
template <class... X>
RAdam(const X&...) -> RAdam<float, Cpu>;
template <class X>
RAdam(const X&, const radam_options&) -> RAdam<float, Cpu>;
template <class T, class Device>
RAdam(const std::vector<parameter_group<T, Device, radam_options>>&) -> RAdam<T, Device>;

}  // namespace kiln::optim
