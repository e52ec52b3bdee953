// SPDX-License-Identifier: BSL-1.0
// What every optimizer is to those that do not care which one it is: schedulers, gradient scaling, training loops.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/core/error.hpp>

namespace kiln::optim {

/// Steps that change parameters by their gradients. Parameters come in groups, each with options of its own.
class optimizer {
 public:
  optimizer(const optimizer&) = delete;
  optimizer& operator=(const optimizer&) = delete;
  virtual ~optimizer() = default;

  /// Changes every parameter that has a gradient; others stay as they are, and their steps are not counted. Throws
  /// graph_error if none has one, value_error if a parameter is no longer where the optimizer put it. Where memory runs
  /// out on the way, parameters that were not reached stay as they are, and so does the count of their steps.
  virtual void step() = 0;
  /// Forgets the gradients, so that the next backward pass begins anew. With `set_to_none` false they become zeros: one
  /// fill for each group, and parameters that no pass reaches then are changed as if their gradient was zero.
  virtual void zero_grad(bool set_to_none = true) = 0;
  /// How many groups there are.
  virtual int group_count() const = 0;
  /// The learning rate of a group, to be read and set. Throws index_error.
  virtual double& lr(int group = 0) = 0;
  /// The learning rate that schedulers go by: what it was when the first of them was made.
  double& initial_lr(int group) {
    for (int g = static_cast<int>(initial_.size()); g <= group; ++g) initial_.push_back(lr(g));
    return initial_[static_cast<std::size_t>(group)];
  }
  /// What OneCycleLR lets go up while the learning rate goes down: the momentum, or the first of the betas; null for an
  /// optimizer without either.
  virtual double* momentum_of(int group) = 0;
  /// Multiplies every gradient by a number. Returns whether all of them were, and are, finite.
  virtual bool scale_gradients(double by) = 0;

 protected:
  optimizer() = default;
  /// Those that schedulers have asked for so far.
  std::vector<double>& initial_lrs() { return initial_; }

 private:
  std::vector<double> initial_;
};

namespace detail {
/// Throws value_error unless an argument is a number in [low, high), or from low on if there is no high.
inline void check_argument(const char* of, std::string_view name, double value, double low = 0,
                           double high = HUGE_VAL) {
  if (value >= low && value < high) return;
  const std::string what = message(of, ": ", name, " is ", value, ": it must be ");
  if (low == -std::numeric_limits<double>::max()) throw value_error(what + "a finite number");
  if (high == HUGE_VAL) throw value_error(message(what, "a finite number from ", low, " on"));
  throw value_error(message(what, "in [", low, ", ", high, ")"));
}
/// The same of an option.
inline void check_option(const char* of, const char* name, double value, double low = 0, double high = HUGE_VAL) {
  check_argument(of, std::string(".") + name, value, low, high);
}
/// Any finite number.
inline constexpr double any_low = -std::numeric_limits<double>::max();
/// Throws value_error unless a number of steps or the like is from `low` to 2^53: more is a mistake, and would
/// overflow.
inline void check_count(const char* of, std::string_view name, std::int64_t value, std::int64_t low) {
  if (value < low || value > std::int64_t{1} << 53)
    throw value_error(message(of, ": ", name, " is ", value, ": it must be from ", low, " to 2^53"));
}

template <class... X>
void takes_parameters_and_options() {
  static_assert(kiln::detail::never<X...>,
                "kiln: an optimizer takes parameters and options by name: optim::SGD o(nn::parameters(net), {.lr = "
                "0.1}), or tensors in braces, optim::SGD o({w, b}, {.lr = 0.1})");
}
}  // namespace detail

}  // namespace kiln::optim
