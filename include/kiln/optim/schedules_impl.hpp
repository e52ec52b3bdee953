// SPDX-License-Identifier: BSL-1.0
// The definitions of schedules.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include <kiln/optim/schedules.hpp>

namespace kiln::optim {

KILN_INLINE OneCycleLR::OneCycleLR(optimizer& of, double max_lr, std::int64_t total_steps,
                                   const one_cycle_options& options)
    : scheduler(of), max_lr_(max_lr), total_steps_(total_steps), options_(options) {
  detail::check_count("OneCycleLR", "total_steps", total_steps, 1);
  detail::check_argument("OneCycleLR", "max_lr", max_lr);
  detail::check_option("OneCycleLR", "base_momentum", options.base_momentum, 0, 1);
  detail::check_option("OneCycleLR", "max_momentum", options.max_momentum, 0, 1);
  constexpr double least = std::numeric_limits<double>::min();
  detail::check_option("OneCycleLR", "div_factor", options.div_factor, least);
  detail::check_option("OneCycleLR", "final_div_factor", options.final_div_factor, least);
  if (!(options.pct_start >= 0 && options.pct_start <= 1))
    throw value_error(message("OneCycleLR: .pct_start is ", options.pct_start, ": it must be from 0 to 1"));
  for (int g = 0; g < of.group_count(); ++g) {
    if (options.cycle_momentum && !of.momentum_of(g))
      throw value_error(
          "OneCycleLR: the optimizer has neither momentum nor betas: set .cycle_momentum = false to cycle the rate "
          "alone");
    of.initial_lr(g) = max_lr / options.div_factor;
  }
  set_rates();
}

KILN_INLINE double OneCycleLR::rate(int group, std::int64_t t, double base, double) {
  if (t > total_steps_)
    throw value_error(message("OneCycleLR: step ", t, " of ", total_steps_,
                              ": the cycle is over: give all steps of the training as total_steps"));
  const double lowest = base / options_.final_div_factor, all = static_cast<double>(total_steps_);
  struct phase {
    double end, from, to, momentum_from, momentum_to;
  };
  const double top = options_.pct_start * all - 1, up = options_.base_momentum, down = options_.max_momentum;
  const phase two[] = {{top, base, max_lr_, down, up}, {all - 1, max_lr_, lowest, up, down}};
  const phase three[] = {{top, base, max_lr_, down, up},
                         {2 * options_.pct_start * all - 2, max_lr_, base, up, down},
                         {all - 1, base, lowest, down, down}};
  const phase* const begin = options_.three_phase ? three : two;
  const phase* const last = begin + (options_.three_phase ? 2 : 1);
  const double at = static_cast<double>(t);
  double start = 0;
  const phase* p = begin;
  for (; p != last && at > p->end; ++p) start = p->end;
  const double share = p->end > start ? (at - start) / (p->end - start) : 1;  // a phase may have no length
  const auto between = [&](double from, double to) {
    return options_.anneal_strategy == anneal::linear ? (to - from) * share + from
                                                      : to + (from - to) / 2 * (std::cos(std::numbers::pi * share) + 1);
  };
  if (options_.cycle_momentum) *of().momentum_of(group) = between(p->momentum_from, p->momentum_to);
  return between(p->from, p->to);
}

KILN_INLINE ReduceLROnPlateau::ReduceLROnPlateau(optimizer& of, const plateau_options& options)
    : of_(&of),
      options_(options),
      best_(options.maximize ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()) {
  if (!(options.factor > 0 && options.factor < 1))
    throw value_error(message("ReduceLROnPlateau: .factor is ", options.factor, ": it must be above 0 and below 1"));
  detail::check_count("ReduceLROnPlateau", ".patience", options.patience, 0);
  detail::check_count("ReduceLROnPlateau", ".cooldown", options.cooldown, 0);
  detail::check_option("ReduceLROnPlateau", "threshold", options.threshold);
  detail::check_option("ReduceLROnPlateau", "min_lr", options.min_lr);
  detail::check_option("ReduceLROnPlateau", "eps", options.eps);
}
KILN_INLINE bool ReduceLROnPlateau::is_better(double value) const {
  const double by = options_.threshold;
  if (options_.maximize) return value > (options_.relative ? best_ * (1 + by) : best_ + by);
  return value < (options_.relative ? best_ * (1 - by) : best_ - by);
}
KILN_INLINE void ReduceLROnPlateau::step(double value) {
  if (is_better(value)) {
    best_ = value;
    bad_epochs_ = 0;
  } else {
    ++bad_epochs_;
  }
  if (cooling_ > 0) {
    --cooling_;
    bad_epochs_ = 0;
  }
  if (bad_epochs_ <= options_.patience) return;
  for (int g = 0; g < of_->group_count(); ++g) {
    double& lr = of_->lr(g);
    const double next = std::max(lr * options_.factor, options_.min_lr);
    if (lr - next > options_.eps) lr = next;
  }
  cooling_ = options_.cooldown;
  bad_epochs_ = 0;
}

namespace detail {
/// The one optimizer that all of them change, which `of` tells.
template <class F>
optimizer& common_optimizer(const char* name, const std::vector<scheduler*>& schedulers, F of) {
  if (schedulers.empty()) throw value_error(message(name, ": there are no schedulers: give one at least"));
  for (const scheduler* s : schedulers)
    if (!s || &of(*s) != &of(*schedulers[0]))
      throw value_error(message(name, ": the schedulers are of several optimizers: give those of one"));
  return of(*schedulers[0]);
}
/// Schedulers and all that they are made of, each before its parts.
template <class F>
std::vector<scheduler*> with_parts(const std::vector<scheduler*>& schedulers, F parts_of) {
  std::vector<scheduler*> all;
  for (scheduler* s : schedulers) {
    all.push_back(s);
    const std::vector<scheduler*> within = parts_of(*s);
    all.insert(all.end(), within.begin(), within.end());
  }
  return all;
}
}  // namespace detail

KILN_INLINE SequentialLR::SequentialLR(std::vector<scheduler*> schedulers, std::vector<std::int64_t> milestones)
    : scheduler(detail::common_optimizer("SequentialLR", schedulers,
                                         [](const scheduler& s) -> optimizer& { return s.of(); })),
      schedulers_(std::move(schedulers)),
      milestones_(std::move(milestones)) {
  if (milestones_.size() + 1 != schedulers_.size())
    throw value_error(message("SequentialLR: ", schedulers_.size(), " schedulers and ", milestones_.size(),
                              " milestones: there must be one milestone between each two schedulers"));
  begin();
}
KILN_INLINE std::vector<scheduler*> SequentialLR::parts() const {
  return detail::with_parts(schedulers_, [](const scheduler& s) { return s.parts(); });
}
KILN_INLINE void SequentialLR::begin(std::size_t which) {
  for (int g = 0; g < of().group_count(); ++g) of().lr(g) = of().initial_lr(g);
  schedulers_[which]->begin();
}
KILN_INLINE void SequentialLR::begin() {
  epoch_ = 0;
  begin(std::size_t{0});
}
KILN_INLINE void SequentialLR::step() {
  next_epoch();
  const auto past = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch());
  const auto which = static_cast<std::size_t>(past - milestones_.begin());
  if (which > 0 && milestones_[which - 1] == last_epoch())
    begin(which);
  else
    schedulers_[which]->step();
}

KILN_INLINE ChainedScheduler::ChainedScheduler(std::vector<scheduler*> schedulers)
    : scheduler(detail::common_optimizer("ChainedScheduler", schedulers,
                                         [](const scheduler& s) -> optimizer& { return s.of(); })),
      schedulers_(std::move(schedulers)) {}
KILN_INLINE std::vector<scheduler*> ChainedScheduler::parts() const {
  return detail::with_parts(schedulers_, [](const scheduler& s) { return s.parts(); });
}
KILN_INLINE void ChainedScheduler::begin() {
  epoch_ = 0;
  for (scheduler* s : schedulers_) s->begin();
}
KILN_INLINE void ChainedScheduler::step() {
  next_epoch();
  for (scheduler* s : schedulers_) s->step();
}

}  // namespace kiln::optim
