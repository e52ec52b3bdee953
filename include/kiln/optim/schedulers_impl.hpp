// SPDX-License-Identifier: BSL-1.0
// The definitions of schedulers.hpp. Rates are made of the present ones where PyTorch does so: that way schedulers
// chain, and numbers agree to the last bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <kiln/optim/schedulers.hpp>

namespace kiln::optim {

KILN_INLINE scheduler::scheduler(optimizer& of) : of_(&of) {
  for (int g = 0; g < of.group_count(); ++g) of.initial_lr(g);
}
KILN_INLINE void scheduler::set_rates() {
  for (int g = 0; g < of_->group_count(); ++g) of_->lr(g) = rate(g, epoch_, of_->initial_lr(g), of_->lr(g));
}
KILN_INLINE void scheduler::step() {
  ++epoch_;
  set_rates();
}
KILN_INLINE void scheduler::begin() {
  epoch_ = 0;
  set_rates();
}

KILN_INLINE StepLR::StepLR(optimizer& of, std::int64_t step_size, double gamma)
    : scheduler(of), step_size_(step_size), gamma_(gamma) {
  detail::check_count("StepLR", "step_size", step_size, 1);
  detail::check_argument("StepLR", "gamma", gamma);
}
KILN_INLINE double StepLR::rate(int, std::int64_t t, double, double now) {
  return t > 0 && t % step_size_ == 0 ? now * gamma_ : now;
}

KILN_INLINE MultiStepLR::MultiStepLR(optimizer& of, std::vector<std::int64_t> milestones, double gamma)
    : scheduler(of), milestones_(std::move(milestones)), gamma_(gamma) {
  detail::check_argument("MultiStepLR", "gamma", gamma);
}
KILN_INLINE double MultiStepLR::rate(int, std::int64_t t, double, double now) {
  const auto times = std::count(milestones_.begin(), milestones_.end(), t);
  return t > 0 && times > 0 ? now * std::pow(gamma_, static_cast<double>(times)) : now;
}

KILN_INLINE ExponentialLR::ExponentialLR(optimizer& of, double gamma) : scheduler(of), gamma_(gamma) {
  detail::check_argument("ExponentialLR", "gamma", gamma);
}
KILN_INLINE double ExponentialLR::rate(int, std::int64_t t, double, double now) {
  return t > 0 ? now * gamma_ : now;
}

KILN_INLINE ConstantLR::ConstantLR(optimizer& of, double factor, std::int64_t total_iters)
    : scheduler(of), factor_(factor), total_iters_(total_iters) {
  if (!(factor > 0 && factor <= 1))
    throw value_error(message("ConstantLR: factor is ", factor, ": it must be above 0 and at most 1"));
  detail::check_count("ConstantLR", "total_iters", total_iters, 0);
  set_rates();
}
KILN_INLINE double ConstantLR::rate(int, std::int64_t t, double, double now) {
  return t == 0 ? now * factor_ : t == total_iters_ ? now / factor_ : now;
}

KILN_INLINE LinearLR::LinearLR(optimizer& of, double start_factor, double end_factor, std::int64_t total_iters)
    : scheduler(of), start_(start_factor), end_(end_factor), total_iters_(total_iters) {
  if (!(start_factor > 0 && start_factor <= 1))
    throw value_error(message("LinearLR: start_factor is ", start_factor, ": it must be above 0 and at most 1"));
  if (!(end_factor >= 0 && end_factor <= 1))
    throw value_error(message("LinearLR: end_factor is ", end_factor, ": it must be from 0 to 1"));
  detail::check_count("LinearLR", "total_iters", total_iters, 1);
  set_rates();
}
KILN_INLINE double LinearLR::rate(int, std::int64_t t, double, double now) {
  if (t == 0) return now * start_;
  if (t > total_iters_) return now;
  const double n = static_cast<double>(total_iters_);
  return now * (1 + (end_ - start_) / (n * start_ + static_cast<double>(t - 1) * (end_ - start_)));
}

KILN_INLINE PolynomialLR::PolynomialLR(optimizer& of, std::int64_t total_iters, double power)
    : scheduler(of), total_iters_(total_iters), power_(power) {
  detail::check_count("PolynomialLR", "total_iters", total_iters, 1);
  detail::check_argument("PolynomialLR", "power", power);
}
KILN_INLINE double PolynomialLR::rate(int, std::int64_t t, double, double now) {
  if (t == 0 || t > total_iters_) return now;
  const double n = static_cast<double>(total_iters_), at = static_cast<double>(t);
  return now * std::pow((1 - at / n) / (1 - (at - 1) / n), power_);
}

KILN_INLINE CosineAnnealingLR::CosineAnnealingLR(optimizer& of, std::int64_t T_max, double eta_min)
    : scheduler(of), T_max_(T_max), eta_min_(eta_min) {
  detail::check_count("CosineAnnealingLR", "T_max", T_max, 1);
  detail::check_argument("CosineAnnealingLR", "eta_min", eta_min);
}
KILN_INLINE double CosineAnnealingLR::rate(int, std::int64_t t, double base, double now) {
  if (t == 0) return now;
  const double n = static_cast<double>(T_max_), at = static_cast<double>(t), pi = std::numbers::pi;
  if ((t - 1 - T_max_) % (2 * T_max_) == 0)  // from the lowest point, where the quotient would be 0 / 0
    return now + (base - eta_min_) * (1 - std::cos(pi / n)) / 2;
  return (1 + std::cos(pi * at / n)) / (1 + std::cos(pi * (at - 1) / n)) * (now - eta_min_) + eta_min_;
}

KILN_INLINE LambdaLR::LambdaLR(optimizer& of, std::function<double(std::int64_t)> f) : scheduler(of), f_(std::move(f)) {
  if (!f_) throw value_error("LambdaLR: the function is empty: give one of the epoch");
  set_rates();
}
KILN_INLINE double LambdaLR::rate(int, std::int64_t t, double base, double) {
  return base * f_(t);
}

}  // namespace kiln::optim
