// SPDX-License-Identifier: BSL-1.0
// Exponential moving averages of parameters, which are often better to test with than the parameters themselves. As
// torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <kiln/optim/parameter_groups.hpp>

namespace kiln::optim {

struct ema_options {
  double decay = 0.999;
};

/// Averages of parameters: the first update() takes their values, each later one moves the averages by (1 - decay) of
/// the way to the parameters. Those that lie in one buffer, as an optimizer's do, are one kernel. Averages are of float
/// for parameters of half types.
template <Element T, class Device = Cpu>
class ExponentialMovingAverage {
 public:
  using C = compute_t<T>;
  /// Throws value_error for no parameters, or a decay outside [0, 1].
  explicit ExponentialMovingAverage(const std::vector<Tensor<T, Device>>& parameters, const ema_options& options = {})
      : parameters_(detail::states_of(parameters)), layout_(parameters_), decay_(options.decay) {
    if (parameters.empty()) throw value_error("ExponentialMovingAverage: there are no parameters");
    if (!(options.decay >= 0 && options.decay <= 1))
      throw value_error(message("ExponentialMovingAverage: .decay is ", options.decay, ": it must be from 0 to 1"));
    flat_ = kiln::executor<Device>::new_tensor(dtype_of<C>, {layout_.total()}, *parameters_[0]->memory);
    kiln::executor<Device>::set_zero(*flat_);
  }
  /// After each step of the optimizer.
  void update() {
    const double by = updates_++ == 0 ? 1 : 1 - decay_;
    each_run([&](Tensor<T, Device>& p, Tensor<C, Device>& average) {
      const auto wide = kiln::detail::converted<C>(p);
      assign(std::tie(average), average + (wide - average) * by);
    });
  }
  /// Exchanges parameters and averages: for a test, and once more after it. Throws value_error before the first
  /// update().
  void swap() {
    if (updates_ == 0) throw value_error("ExponentialMovingAverage: swap() before the first update()");
    each_run([&](Tensor<T, Device>& p, Tensor<C, Device>& average) {
      assign(std::tie(p, average), cast<T>(average), kiln::detail::converted<C>(p));
    });
    for (const ref<tensor_state>& p : parameters_) ++p->memory->version;
  }
  /// The average of parameter i, in its shape: the elements themselves. Throws index_error.
  Tensor<C, Device> average(int i) const {
    if (i < 0 || i >= static_cast<int>(parameters_.size()))
      throw index_error(message("average: there is no parameter ", i, ": there are ", parameters_.size()));
    const ref<tensor_state>& p = parameters_[static_cast<std::size_t>(i)];
    return detail::part_of_flat<C, Device>(flat_, layout_.begins[static_cast<std::size_t>(i)], count(p->sizes))
        .reshape(p->sizes);
  }
  /// How many updates there were.
  std::int64_t updates() const { return updates_; }
  /// For checkpoints; see parameter_groups.
  template <class V>
  void visit_state(V& v) {
    v.counter("updates", updates_);
    for (int i = 0; i < static_cast<int>(parameters_.size()); ++i) {
      const Tensor<C, Device> part = average(i);
      v.part("average." + std::to_string(i), part, part.sizes(), dtype_of<C>);
    }
  }

 private:
  // Where parameters lie is looked at each time: an optimizer made later moves them.
  template <class F>
  void each_run(F f) {
    const no_grad quiet;
    for (const detail::index_run& run : detail::runs_in_memory(parameters_, layout_)) {
      const std::size_t first = static_cast<std::size_t>(run.first), last = static_cast<std::size_t>(run.last);
      const ref<tensor_state>& p = parameters_[first];
      const bool one = last == first + 1;
      const std::int64_t size = one ? count(p->sizes) : layout_.begins[last] - layout_.begins[first];
      Tensor<C, Device> average = detail::part_of_flat<C, Device>(flat_, layout_.begins[first], size);
      Tensor<T, Device> values = one ? Tensor<T, Device>(p).detach() : Tensor<T, Device>(detail::joined(p, size));
      if (one) average = average.reshape(p->sizes);
      f(values, average);
    }
  }

  std::vector<ref<tensor_state>> parameters_;
  detail::flat_layout layout_;
  ref<tensor_state> flat_;
  double decay_;
  std::int64_t updates_ = 0;
};

}  // namespace kiln::optim
