// SPDX-License-Identifier: BSL-1.0
// Learning rates over time, as torch.optim.lr_scheduler's. Each sets the rates of an optimizer's groups when it is
// made, and again with each step(), which is called once an epoch, or a batch, after the optimizer's. schedules.hpp
// holds OneCycleLR, ReduceLROnPlateau, and those that are made of other schedulers.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <kiln/optim/optimizer.hpp>

namespace kiln::optim {

/// What changes the learning rates of an optimizer, which must outlive it.
class scheduler {
 public:
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  virtual ~scheduler() = default;

  /// One epoch more: sets the learning rates.
  virtual void step();
  /// How many steps there were.
  std::int64_t last_epoch() const { return epoch_; }
  /// The learning rate that was set last.
  double last_lr(int group = 0) const { return of_->lr(group); }
  /// For checkpoints: how far it is, and all that it is made of; see parameter_groups. Rates are the optimizer's.
  template <class V>
  void visit_state(V& v) {
    v.counter("epoch", epoch_);
    const std::vector<scheduler*> all = parts();
    std::vector<std::int64_t> theirs;
    for (const scheduler* s : all) theirs.push_back(s->epoch_);
    v.list("parts", theirs);
    if (theirs.size() != all.size()) return v.misfit("parts", "another number of schedulers");
    for (const std::int64_t epoch : theirs)
      if (epoch < 0 || epoch > std::int64_t{1} << 53) return v.misfit("parts", "epochs that cannot be");
    if (v.writes())
      for (std::size_t i = 0; i < all.size(); ++i) v.set(all[i]->epoch_, theirs[i]);
  }

 protected:
  /// The rates that it begins with are the ones that the optimizer had before its first scheduler.
  explicit scheduler(optimizer& of);
  /// The rate of a group in epoch t >= 0. Schedulers that chain derive it of `now`, the one it has, others of `base`,
  /// the one at the beginning.
  virtual double rate(int group, std::int64_t t, double base, double now) = 0;
  /// Sets all rates for the present epoch. Constructors end with it.
  void set_rates();

  /// Sets the rates of epoch 0, of the ones that the optimizer has now.
  virtual void begin();

  /// The schedulers that this one is made of, and theirs.
  virtual std::vector<scheduler*> parts() const { return {}; }
  optimizer& of() const { return *of_; }
  void next_epoch() { ++epoch_; }

 private:
  friend class SequentialLR;
  friend class ChainedScheduler;

  optimizer* of_;
  std::int64_t epoch_ = 0;
};

/// The rate times `gamma` every `step_size` epochs. Throws value_error for a step_size below 1.
class StepLR final : public scheduler {
 public:
  StepLR(optimizer& of, std::int64_t step_size, double gamma = 0.1);

 private:
  double rate(int, std::int64_t t, double, double now) override;
  std::int64_t step_size_;
  double gamma_;
};

/// The rate times `gamma` in each of these epochs; twice in one that is there twice.
class MultiStepLR final : public scheduler {
 public:
  MultiStepLR(optimizer& of, std::vector<std::int64_t> milestones, double gamma = 0.1);

 private:
  double rate(int, std::int64_t t, double, double now) override;
  std::vector<std::int64_t> milestones_;
  double gamma_;
};

/// The rate times `gamma` every epoch.
class ExponentialLR final : public scheduler {
 public:
  ExponentialLR(optimizer& of, double gamma);

 private:
  double rate(int, std::int64_t t, double, double now) override;
  double gamma_;
};

/// The rate times `factor` until epoch `total_iters`.
class ConstantLR final : public scheduler {
 public:
  explicit ConstantLR(optimizer& of, double factor = 1.0 / 3, std::int64_t total_iters = 5);

 private:
  double rate(int, std::int64_t t, double, double now) override;
  double factor_;
  std::int64_t total_iters_;
};

/// Warm-up: the rate times a factor that goes from `start_factor` to `end_factor` in `total_iters` even steps. Throws
/// value_error for factors outside (0, 1] and [0, 1].
class LinearLR final : public scheduler {
 public:
  explicit LinearLR(optimizer& of, double start_factor = 1.0 / 3, double end_factor = 1, std::int64_t total_iters = 5);

 private:
  double rate(int, std::int64_t t, double, double now) override;
  double start_, end_;
  std::int64_t total_iters_;
};

/// The rate times (1 - t / total_iters)^power, 0 from then on.
class PolynomialLR final : public scheduler {
 public:
  explicit PolynomialLR(optimizer& of, std::int64_t total_iters = 5, double power = 1);

 private:
  double rate(int, std::int64_t t, double, double now) override;
  std::int64_t total_iters_;
  double power_;
};

/// Half a cosine from the rate down to `eta_min` in `T_max` epochs, then up again (Loshchilov and Hutter, 2017, without
/// restarts). Throws value_error for a T_max below 1.
class CosineAnnealingLR final : public scheduler {
 public:
  CosineAnnealingLR(optimizer& of, std::int64_t T_max, double eta_min = 0);

 private:
  double rate(int, std::int64_t t, double base, double now) override;
  std::int64_t T_max_;
  double eta_min_;
};

/// The first rate times f(epoch).
class LambdaLR final : public scheduler {
 public:
  LambdaLR(optimizer& of, std::function<double(std::int64_t)> f);

 private:
  double rate(int, std::int64_t t, double base, double) override;
  std::function<double(std::int64_t)> f_;
};

}  // namespace kiln::optim

#ifndef KILN_COMPILED
#include <kiln/optim/schedulers_impl.hpp>
#endif
