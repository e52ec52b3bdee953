// SPDX-License-Identifier: BSL-1.0
// Loss scaling: gradients of half precision would be rounded to zero, so the loss is multiplied by a large number
// before backward() and the gradients are divided by it before the step. As torch.amp.GradScaler.
#pragma once

#include <cstdint>
#include <limits>

#include <kiln/expr/node.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/optim/optimizer.hpp>

namespace kiln::optim {

/// As torch.amp.GradScaler's.
struct grad_scaler_options {
  double init_scale = 65536;
  double growth_factor = 2;     ///< after growth_interval steps in a row that could be made
  double backoff_factor = 0.5;  ///< after one that could not
  std::int64_t growth_interval = 2000;
  bool enabled = true;
};

/// `backward(scaler.scale(loss)); scaler.step(opt); scaler.update();`: a step whose gradients are not all finite is
/// left out, and the scale gets smaller.
class GradScaler {
 public:
  /// Throws value_error for factors that do not grow and back off.
  explicit GradScaler(const grad_scaler_options& options = {}) : options_(options), scale_(options.init_scale) {
    if (!(options.init_scale > 0 && std::isfinite(options.init_scale)))
      throw value_error("GradScaler: .init_scale must be above 0 and finite");
    if (!(options.growth_factor > 1 && std::isfinite(options.growth_factor)))
      throw value_error("GradScaler: .growth_factor must be above 1 and finite");
    if (!(options.backoff_factor > 0 && options.backoff_factor < 1))
      throw value_error("GradScaler: .backoff_factor must be above 0 and below 1");
  }
  /// The loss times the scale, as an expression.
  template <Expression E>
  auto scale(const E& loss) const {
    return loss * (options_.enabled ? scale_ : 1.0);
  }
  /// Divides the gradients by the scale, to clip them before the step: which does it otherwise. Throws value_error if
  /// this has been done since the last step.
  void unscale(optimizer& of) {
    if (!options_.enabled) return;
    if (unscaled_)
      throw value_error(
          "GradScaler: unscale() was called before, and would divide by the scale once more: call it once "
          "between update() and step()");
    finite_ = of.scale_gradients(1 / scale_);
    unscaled_ = true;
  }
  /// The optimizer's step if all gradients are finite. Returns whether it was made.
  bool step(optimizer& of) {
    if (options_.enabled && !unscaled_) unscale(of);
    const bool made = !options_.enabled || finite_;
    if (made) of.step();
    return made;
  }
  /// After the step: a new scale.
  void update() {
    if (!options_.enabled) return;
    if (!finite_) {
      scale_ *= options_.backoff_factor;
      good_steps_ = 0;
    } else if (++good_steps_ == options_.growth_interval) {
      scale_ *= options_.growth_factor;
      good_steps_ = 0;
    }
    unscaled_ = false;
    finite_ = true;
  }
  /// For checkpoints; see parameter_groups.
  template <class V>
  void visit_state(V& v) {
    v.checked(
        "scale", scale_, [](double x) { return x > 0 && x < std::numeric_limits<double>::infinity(); },
        "positive and finite");
    v.counter("good_steps", good_steps_);
  }
  /// What the loss is multiplied by.
  double get_scale() const { return options_.enabled ? scale_ : 1; }

 private:
  grad_scaler_options options_;
  double scale_;
  std::int64_t good_steps_ = 0;
  bool unscaled_ = false, finite_ = true;
};

}  // namespace kiln::optim
