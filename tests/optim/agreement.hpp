// SPDX-License-Identifier: BSL-1.0
// The problem of torch_values.py, and what an optimizer makes of it beside the values stored there.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <kiln/kiln.hpp>

#include <optim/torch_values.hpp>

namespace agreement {

using namespace kiln;
using list = std::vector<Tensor<double>>;

inline list parameters() {
  list all{arange<double>(6).reshape({2, 3}) / 4 - 0.6, Tensor<double>{0.7, -1.1, 0.2}, Tensor<double>{1.5}};
  for (Tensor<double>& p : all) p.requires_grad();
  return all;
}

/// backward() of the sum over all tensors; the last one is left out in every third step.
inline void run_backward(const list& all, int t) {
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (k == 2 && t % 3 == 2) continue;
    const double at = static_cast<double>(k);
    backward(
        sum(square(all[k] - 0.3) * (0.5 + 0.5 * at) + cos(all[k] * 3.0) * 0.4 + all[k] * (0.5 * std::sin(t + at))));
  }
}

inline double worst_difference(std::span<const double> is, std::span<const double> wanted) {
  REQUIRE(is.size() == wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < is.size(); ++i)
    worst =
        std::max(worst, std::isnan(is[i]) ? 1e300 : std::abs(is[i] - wanted[i]) / std::max(1.0, std::abs(wanted[i])));
  return worst;
}

inline std::vector<double> values_of(const list& all) {
  std::vector<double> values;
  for (const Tensor<double>& p : all) values.insert(values.end(), p.span().begin(), p.span().end());
  return values;
}

/// Runs 60 steps of Optimizer; the difference to the values after steps 1, 10 and 60.
template <class Optimizer, class Options>
double difference(const Options& options, std::span<const double> wanted) {
  const list all = parameters();
  Optimizer opt(all, options);
  std::vector<double> seen;
  for (int t = 0; t < 60; ++t) {
    opt.zero_grad();
    run_backward(all, t);
    opt.step();
    if (t == 0 || t == 9 || t == 59) {
      const std::vector<double> now = values_of(all);
      seen.insert(seen.end(), now.begin(), now.end());
    }
  }
  return worst_difference(seen, wanted);
}

}  // namespace agreement
