// SPDX-License-Identifier: BSL-1.0
// Learning rates that go up and down once, that fall when nothing gets better, and that follow several schedulers:
// after each other or all at once.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <kiln/optim/schedulers.hpp>

namespace kiln::optim {

/// How a rate goes from one value to the next.
enum class anneal { cosine, linear };

/// As torch.optim.lr_scheduler.OneCycleLR's.
struct one_cycle_options {
  double pct_start = 0.3;  ///< the share of the steps in which the rate goes up
  anneal anneal_strategy = anneal::cosine;
  bool cycle_momentum = true;  ///< the momentum, or the first of the betas, goes the other way
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  double div_factor = 25;         ///< it begins with max_lr / div_factor
  double final_div_factor = 1e4;  ///< and ends with that / final_div_factor
  bool three_phase = false;       ///< down to the beginning first, as fast as up
};

/// One cycle over `total_steps` steps, which begins when it is made (Smith and Topin, 2018). step() belongs after each
/// batch. Throws value_error for options out of range, for an optimizer without momentum unless cycle_momentum is off,
/// and for more steps than there are.
class OneCycleLR final : public scheduler {
 public:
  OneCycleLR(optimizer& of, double max_lr, std::int64_t total_steps, const one_cycle_options& options = {});

 private:
  double rate(int group, std::int64_t t, double base, double now) override;
  double max_lr_;
  std::int64_t total_steps_;
  one_cycle_options options_;
};

/// As torch.optim.lr_scheduler.ReduceLROnPlateau's.
struct plateau_options {
  bool maximize = false;  ///< larger values are better: PyTorch's mode="max"
  double factor = 0.1;
  std::int64_t patience = 10;  ///< so many steps without improvement are borne
  double threshold = 1e-4;     ///< what counts as one
  bool relative = true;        ///< of the best value: PyTorch's threshold_mode="rel"
  std::int64_t cooldown = 0;   ///< steps that do not count after the rate has fallen
  double min_lr = 0;
  double eps = 1e-8;  ///< smaller changes are not made
};

/// Multiplies all rates by `factor` when a value, such as the loss on data that was not trained on, has stopped getting
/// better. Throws value_error for a factor outside (0, 1).
class ReduceLROnPlateau {
 public:
  explicit ReduceLROnPlateau(optimizer& of, const plateau_options& options = {});
  /// One epoch more, which ended with this value.
  void step(double value);
  /// The best value so far.
  double best() const { return best_; }
  /// For checkpoints; see parameter_groups.
  template <class V>
  void visit_state(V& v) {
    v("best", best_);
    v.counter("bad_epochs", bad_epochs_);
    v.counter("cooling", cooling_);
  }

 private:
  bool is_better(double value) const;
  optimizer* of_;
  plateau_options options_;
  double best_;
  std::int64_t bad_epochs_ = 0, cooling_ = 0;
};

/// Schedulers one after the other: each begins anew in its milestone, at the rates from before all of them. They must
/// outlive this. Throws value_error unless there is one milestone less than schedulers, and all are of one optimizer.
class SequentialLR final : public scheduler {
 public:
  SequentialLR(std::vector<scheduler*> schedulers, std::vector<std::int64_t> milestones);
  void step() override;

 private:
  void begin() override;
  double rate(int, std::int64_t, double, double now) override { return now; }
  std::vector<scheduler*> parts() const override;
  void begin(std::size_t which);
  std::vector<scheduler*> schedulers_;
  std::vector<std::int64_t> milestones_;
};

/// Several schedulers at once: each changes the rates that the one before it has left. They must outlive this. Throws
/// value_error if there are none, or not all are of one optimizer.
class ChainedScheduler final : public scheduler {
 public:
  explicit ChainedScheduler(std::vector<scheduler*> schedulers);
  void step() override;

 private:
  void begin() override;
  double rate(int, std::int64_t, double, double now) override { return now; }
  std::vector<scheduler*> parts() const override;
  std::vector<scheduler*> schedulers_;
};

}  // namespace kiln::optim

#ifndef KILN_COMPILED
#include <kiln/optim/schedules_impl.hpp>
#endif
