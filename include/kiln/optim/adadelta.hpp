// SPDX-License-Identifier: BSL-1.0
// Adadelta (Zeiler, 2012).
#pragma once

#include <cmath>
#include <concepts>
#include <vector>

#include <kiln/optim/parameter_groups.hpp>

namespace kiln::optim {

/// As torch.optim.Adadelta's.
struct adadelta_options {
  double lr = 1;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0;
  bool maximize = false;
};

/// With g the gradient plus weight_decay w: s = rho s + (1 - rho) g^2, u = sqrt(d + eps) / sqrt(s + eps) g,
/// d = rho d + (1 - rho) u^2, w -= lr u. State: "square_avg" is s, "acc_delta" d. Throws value_error for options out of
/// range.
template <Element T, class Device = Cpu>
class Adadelta final : public parameter_groups<T, Device, adadelta_options> {
  using base = parameter_groups<T, Device, adadelta_options>;

 public:
  using base::base;
  explicit Adadelta(const std::vector<Tensor<T, Device>>& parameters, const adadelta_options& options = {}) {
    this->add_param_group(parameters, options);
  }
  template <std::same_as<parameter_group<T, Device, adadelta_options>> Group>
  explicit Adadelta(const std::vector<Group>& groups) {
    for (const auto& g : groups) this->add_param_group(g.parameters, g.options);
  }

 private:
  void update(typename base::parameter_run& run, adadelta_options& o) override {
    const auto w = run.weights();
    const auto g = run.gradients() * (o.maximize ? -1.0 : 1.0) + w * o.weight_decay;
    const auto s = run.state(detail::first_state, "square_avg");
    const auto d = run.state(detail::second_state, "acc_delta");
    const auto s1 = s * o.rho + g * g * (1 - o.rho);
    const auto u = sqrt(d + o.eps) / sqrt(s1 + o.eps) * g;
    run.set(w - u * o.lr, s1, d * o.rho + u * u * (1 - o.rho));
  }
  void check(const adadelta_options& o) const override {
    detail::check_option("Adadelta", "lr", o.lr);
    detail::check_option("Adadelta", "rho", o.rho, 0, std::nextafter(1.0, 2.0));
    detail::check_option("Adadelta", "eps", o.eps);
    detail::check_option("Adadelta", "weight_decay", o.weight_decay);
  }
};
/// Tensors in braces: `Adadelta({w, b})`.
template <class T, class Device>
Adadelta(std::initializer_list<Tensor<T, Device>>, const adadelta_options& = {}) -> Adadelta<T, Device>;
template <class... X>
Adadelta(const X&...) -> Adadelta<float, Cpu>;
template <class X>
Adadelta(const X&, const adadelta_options&) -> Adadelta<float, Cpu>;
template <class T, class Device>
Adadelta(const std::vector<parameter_group<T, Device, adadelta_options>>&) -> Adadelta<T, Device>;

}  // namespace kiln::optim
