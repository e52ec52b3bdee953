// SPDX-License-Identifier: BSL-1.0
// L-BFGS (Nocedal and Wright, Numerical Optimization, 2nd edition, algorithms 7.4 and 7.5) with the step sizes and the
// stopping rules of torch.optim.LBFGS. Parameters lie in one buffer, so its vectors are vectors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <kiln/optim/line_search.hpp>
#include <kiln/optim/parameter_groups.hpp>

namespace kiln::optim {

/// How far L-BFGS goes along a direction.
enum class line_search { none, strong_wolfe };

/// As torch.optim.LBFGS's.
struct lbfgs_options {
  double lr = 1;
  std::int64_t max_iter = 20;
  std::int64_t max_eval = -1;  ///< of the loss in one step; -1 for max_iter * 5 / 4
  double tolerance_grad = 1e-7;
  double tolerance_change = 1e-9;
  std::int64_t history_size = 100;
  line_search line_search_fn = line_search::none;
};

/// A quasi-Newton method for losses that are computed from all data: each step asks for the loss several times.
template <Element T, class Device = Cpu>
class LBFGS {
  static_assert(std::is_same_v<T, compute_t<T>>, "kiln: LBFGS needs parameters of float or double");
  using vector = Tensor<T, Device>;

 public:
  /// Throws as every optimizer, and value_error for options out of range.
  explicit LBFGS(const std::vector<Tensor<T, Device>>& parameters, const lbfgs_options& options = {})
      : options_(options), memory_(detail::states_of(parameters), *kiln::detail::adding_kernel<T, Device>()) {
    detail::check_option("LBFGS", "lr", options.lr);
    detail::check_count("LBFGS", ".max_iter", options.max_iter, 1);
    detail::check_count("LBFGS", ".history_size", options.history_size, 1);
    detail::check_option("LBFGS", "tolerance_grad", options.tolerance_grad, detail::any_low);
    detail::check_option("LBFGS", "tolerance_change", options.tolerance_change, detail::any_low);
    if (options_.max_eval < 0) options_.max_eval = options_.max_iter * 5 / 4;
  }
  /// Not possible: says how parameters and options are given.
  template <class... X>
  explicit LBFGS(const X&...) : LBFGS(std::vector<vector>()) {
    detail::takes_parameters_and_options<X...>();
  }
  template <class X>
  LBFGS(const X&, const lbfgs_options&) : LBFGS(std::vector<vector>()) {
    detail::takes_parameters_and_options<X>();
  }
  LBFGS(const LBFGS&) = delete;
  LBFGS& operator=(const LBFGS&) = delete;

  /// Up to max_iter iterations. `closure()` computes the loss, calls backward() on it and returns it, a number or a
  /// tensor of one element; gradients have been forgotten before. Returns the first loss. Parameters without a gradient
  /// count as if it was zero; throws graph_error if none has one, value_error if the parameters have been moved.
  template <class F>
  double step(F closure) {
    const auto evaluate = [&] {
      zero_grad();
      const auto loss = closure();
      ++evaluations_;
      take_gradient();
      if constexpr (Number<std::remove_cvref_t<decltype(loss)>>)
        return static_cast<double>(loss);
      else
        return static_cast<double>(loss.detach().item());
    };
    return run(evaluate);
  }
  /// Forgets the gradients. step() does so before each call.
  void zero_grad() { memory_.zero_gradients(true); }
  lbfgs_options& options() { return options_; }
  /// For checkpoints; see parameter_groups. The option line_search_fn is no number and stays as it is.
  template <class V>
  void visit_state(V& v) {
    v("lr", options_.lr);
    v.counter("iterations", iterations_);
    v.counter("evaluations", evaluations_);
    v("length", length_);
    v("scale", scale_);
    std::vector<double> inverses;
    for (const correction& c : corrections_) inverses.push_back(c.inverse);
    v.list("inverses", inverses);
    if (v.writes()) v.set(corrections_, std::deque<correction>(inverses.size()));
    const dims sizes{memory_.layout().total()};
    const auto visit = [&](const std::string& name, vector& x) {
      if (v.writes()) v.set(x, vector(empty<T, Device>(sizes)));
      v.part(name, x, sizes, dtype_of<T>);
    };
    for (std::size_t i = 0; i < inverses.size(); ++i) {
      correction none;
      correction& c = i < corrections_.size() ? corrections_[i] : none;
      c.inverse = inverses[i];
      visit("gradients." + std::to_string(i), c.gradient);
      visit("steps." + std::to_string(i), c.step);
    }
    std::vector<std::int64_t> before{iterations_ > 0};
    v.list("before", before);
    if (before != std::vector<std::int64_t>{1}) return;
    visit("previous", previous_);
    visit("direction", direction_);
  }
  /// How many iterations, and calls of the closure, there were in all steps.
  std::int64_t iterations() const { return iterations_; }
  std::int64_t evaluations() const { return evaluations_; }

 private:
  struct correction {
    vector gradient, step;  ///< how the one changed over the other
    double inverse;         ///< of their product
  };

  static double dot(const vector& a, const vector& b) { return static_cast<double>(sum(a * b).item()); }
  static double largest(const vector& a) { return a.numel() == 0 ? 0 : static_cast<double>(max(abs(a)).item()); }

  // The gradients as one vector.
  void take_gradient() {
    const no_grad quiet;
    memory_.gather("step");
    bool any = false;
    for (int i = 0; i < memory_.size(); ++i) any = any || memory_.has_gradient(i);
    if (!any) throw graph_error("step: no parameter has a gradient: the closure has to call backward() on its loss");
    gradient_ = vector(memory_.gradients()).clone();
    for (int i = 0; i < memory_.size(); ++i) {
      if (memory_.has_gradient(i)) continue;
      const auto& begins = memory_.layout().begins;
      const std::size_t at = static_cast<std::size_t>(i);
      gradient_.slice(0, begins[at], begins[at + 1]).zero_();
    }
  }
  void move_to(const vector& from, double t) {
    const no_grad quiet;
    vector values(memory_.values());
    values.copy_(from + direction_ * t);
    memory_.values_changed({0, memory_.size()});
  }

  // The two loops over the corrections: minus the inverse Hessian times the gradient.
  void set_direction() {
    direction_ = vector(gradient_ * -1.0);
    std::vector<double> along(corrections_.size());
    for (std::size_t i = corrections_.size(); i-- > 0;) {
      along[i] = dot(corrections_[i].step, direction_) * corrections_[i].inverse;
      direction_ -= corrections_[i].gradient * along[i];
    }
    direction_ *= scale_;
    for (std::size_t i = 0; i < corrections_.size(); ++i) {
      const double back = dot(corrections_[i].gradient, direction_) * corrections_[i].inverse;
      direction_ += corrections_[i].step * (along[i] - back);
    }
  }
  void remember() {
    const vector change = gradient_ - previous_, way = direction_ * length_;
    const double curvature = dot(change, way);
    if (!(curvature > 1e-10)) return;
    if (static_cast<std::int64_t>(corrections_.size()) == options_.history_size) corrections_.pop_front();
    corrections_.push_back({change, way, 1 / curvature});
    scale_ = curvature / dot(change, change);
  }

  template <class F>
  double run(const F& evaluate) {
    const lbfgs_options& o = options_;
    const std::int64_t before = evaluations_;
    const double first = evaluate();
    const no_grad quiet;
    double loss = first;
    if (largest(gradient_) <= o.tolerance_grad) return first;
    for (std::int64_t n = 1; n <= o.max_iter; ++n) {
      if (++iterations_ > 1) remember();
      set_direction();
      previous_ = gradient_.clone();
      const double last_loss = loss;
      length_ = o.lr;
      if (iterations_ == 1) length_ *= std::min(1.0, 1 / static_cast<double>(sum(abs(gradient_)).item()));
      const double slope = dot(gradient_, direction_);
      if (slope > -o.tolerance_change) break;
      const vector from = vector(memory_.values()).clone();
      const auto probe = [&](double t) {
        move_to(from, t);
        const kiln::detail::recording_scope record(true);
        const double value = evaluate();
        return detail::line_point<vector>{t, value, dot(gradient_, direction_), gradient_};
      };
      if (o.line_search_fn == line_search::strong_wolfe) {
        const detail::line_point<vector> start{0, loss, slope, gradient_};
        const auto found = detail::strong_wolfe(probe, start, length_, largest(direction_), o.tolerance_change,
                                                o.max_eval - (evaluations_ - before));
        loss = found.value, length_ = found.at, gradient_ = found.gradient;
        move_to(from, length_);
      } else if (n < o.max_iter) {  // the last one's loss would be for nothing
        loss = probe(length_).value;
      } else {
        move_to(from, length_);
      }
      if (evaluations_ - before >= o.max_eval || largest(gradient_) <= o.tolerance_grad ||
          largest(direction_) * std::abs(length_) <= o.tolerance_change ||
          std::abs(loss - last_loss) < o.tolerance_change)
        break;
    }
    return first;
  }

  lbfgs_options options_;
  detail::flat_memory memory_;
  std::deque<correction> corrections_;
  vector gradient_, previous_, direction_;
  double length_ = 0, scale_ = 1;
  std::int64_t iterations_ = 0, evaluations_ = 0;
};
/// Tensors in braces: `LBFGS({w, b})`.
template <class T, class Device>
LBFGS(std::initializer_list<Tensor<T, Device>>, const lbfgs_options& = {}) -> LBFGS<T, Device>;
template <class... X>
LBFGS(const X&...) -> LBFGS<float, Cpu>;
template <class X>
LBFGS(const X&, const lbfgs_options&) -> LBFGS<float, Cpu>;

}  // namespace kiln::optim
