// SPDX-License-Identifier: BSL-1.0
// A line search for the strong Wolfe conditions (Nocedal and Wright, Numerical Optimization, 2nd edition,
// algorithms 3.5 and 3.6), with the cubic interpolation of (3.59) and the safeguards of torch.optim.LBFGS.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace kiln::optim::detail {

/// A point on a line: how far, the value there, its derivative along the line, and its gradient.
template <class Vector>
struct line_point {
  double at, value, slope;
  Vector gradient;
};

/// Where a cubic with the values and slopes of two points has its minimum, within [low, high].
template <class Vector>
double cubic_minimum(const line_point<Vector>& a, const line_point<Vector>& b, double low, double high) {
  const line_point<Vector>&left = a.at <= b.at ? a : b, &right = a.at <= b.at ? b : a;
  const double bend = a.slope + b.slope - 3 * (a.value - b.value) / (a.at - b.at);
  const double square = bend * bend - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double root = std::sqrt(square), width = right.at - left.at;
  const double at = right.at - width * ((right.slope + root - bend) / (right.slope - left.slope + 2 * root));
  return std::min(std::max(at, low), high);
}

/// A point that lies sufficiently lower than `start` and sufficiently flat; the best one found if `most` evaluations do
/// not suffice. `probe(t)` gives the point t, `first` is the first one to try, `size` the largest element of the
/// direction.
template <class Vector, class Probe>
line_point<Vector> strong_wolfe(const Probe& probe, const line_point<Vector>& start, double first, double size,
                                double least_change, std::int64_t most) {
  constexpr double decrease = 1e-4, curvature = 0.9;
  const auto too_high = [&](const line_point<Vector>& p) {
    return p.value > start.value + decrease * p.at * start.slope;
  };
  const auto flat = [&](const line_point<Vector>& p) { return std::abs(p.slope) <= -curvature * start.slope; };

  // Further and further, until there is a minimum behind.
  line_point<Vector> before = start, now = probe(first);
  std::int64_t n = 0;
  for (; n < most; ++n) {
    if (too_high(now) || (n > 1 && now.value >= before.value)) break;
    if (flat(now)) return now;
    if (now.slope >= 0) break;
    const double next = cubic_minimum(before, now, now.at + 0.01 * (now.at - before.at), now.at * 10);
    before = std::exchange(now, probe(next));
  }
  if (n >= most) before = start;

  // Between two points with a minimum in between, of which `low` is the better one.
  bool now_is_better = !(before.value <= now.value);
  line_point<Vector> low = now_is_better ? now : before, high = now_is_better ? before : now;
  bool near_end = false;
  while (n < most && std::abs(high.at - low.at) * size >= least_change) {
    const double left = std::min(low.at, high.at), right = std::max(low.at, high.at), margin = 0.1 * (right - left);
    double t = cubic_minimum(low, high, left, right);
    if (std::min(right - t, t - left) >= margin) {
      near_end = false;
    } else if (near_end || t >= right || t <= left) {  // twice near an end: away from it
      t = std::abs(t - right) < std::abs(t - left) ? right - margin : left + margin;
      near_end = false;
    } else {
      near_end = true;
    }
    line_point<Vector> point = probe(t);
    ++n;
    if (too_high(point) || point.value >= low.value) {
      high = std::move(point);
      if (high.value < low.value) std::swap(low, high);
      continue;
    }
    const bool done = flat(point);
    if (!done && point.slope * (high.at - low.at) >= 0) high = low;
    low = std::move(point);
    if (done) break;
  }
  return low;
}

}  // namespace kiln::optim::detail
