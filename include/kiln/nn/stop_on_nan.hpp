// SPDX-License-Identifier: BSL-1.0
// stop_on_nan: ends training at the first loss that is no number, and says at which step and in which layer.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include <kiln/expr/reductions.hpp>
#include <kiln/nn/module.hpp>

namespace kiln::nn {

/// Looks at the loss of each step: `nn::stop_on_nan stop(net);` before the loop, `stop(loss);` in it. It reads the
/// loss, so the device has to be done with it. The module must outlive it.
template <class M>
class stop_on_nan {
 public:
  explicit stop_on_nan(const M& module) : module_(&module) {}

  /// Counts a step. Throws value_error if the loss is nan or infinite, with the step and the layer: the first whose
  /// parameters, or else gradients, hold what is no finite number; or else the one with the largest parameters.
  template <Element T, class D>
  void operator()(const Tensor<T, D>& loss) {
    ++step_;
    const double value = loss.template item<double>();
    if (std::isfinite(value)) return;
    throw value_error(message("stop_on_nan: in step ", step_, " the loss is ", value, "; ", culprit(),
                              ": try a smaller rate, clip_grad_norm, or look for the expression with detect_anomaly"));
  }
  /// How many losses it has seen.
  std::int64_t step() const { return step_; }

 private:
  std::string culprit() const {
    const no_grad quiet;
    const auto all = named_parameters(*module_);
    std::string largest;
    double most = -1;
    for (const auto& [name, p] : all) {
      const double size = largest_of(p);
      if (!std::isfinite(size)) return layer_of(name) + " holds numbers that are not finite, in " + name;
      if (size > most) most = size, largest = name;
    }
    for (const auto& [name, p] : all)
      if (p.has_grad() && !std::isfinite(largest_of(p.grad())))
        return layer_of(name) + " is the first with a gradient that is not finite, of " + name;
    if (largest.empty()) return "the module has no parameters";
    return "all parameters are finite, the largest those of " + layer_of(largest) + ", up to " + message(most) +
           " in " + largest;
  }
  template <class X>
  static double largest_of(const X& p) {
    return p.numel() == 0
               ? 0
               : Tensor<typename X::value_type, typename X::device_type>(max(abs(p))).template item<double>();
  }
  /// fc1 (Linear), of fc1.weight.
  std::string layer_of(const std::string& parameter) const {
    const std::size_t dot = parameter.rfind('.');
    const std::string path = dot == parameter.npos ? "" : parameter.substr(0, dot);
    for (const module_entry& entry : modules(*module_))
      if (entry.name == path) return path.empty() ? entry.type : path + " (" + entry.type + ")";
    return parameter;
  }

  const M* module_;
  std::int64_t step_ = 0;
};
template <class M>
stop_on_nan(const M&) -> stop_on_nan<M>;

}  // namespace kiln::nn
