// SPDX-License-Identifier: BSL-1.0
// The oracle of tests of higher derivatives: differences of the order before.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <kiln/autograd/create_graph.hpp>
#include <kiln/autograd/grad.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/creation.hpp>

namespace orders {

using namespace kiln;

using Doubles = Tensor<double>;

inline bool near(double a, double b, double rtol = 1e-12) {
  return std::abs(a - b) <= rtol * (1 + std::abs(b));
}

// The gradients of f's result, weighted element by element, by all inputs, differentiated `orders` times over; of the
// last, each element against differences of the order before it, which plain backward passes or the value give.
inline std::string difference(const std::function<Doubles(const std::vector<Doubles>&)>& f, std::vector<Doubles> x,
                              int orders) {
  auto weighted = [](const Doubles& y, int salt) {
    Doubles w(new_tensor(dtype::float64, y.sizes()));
    for (std::int64_t i = 0; i < w.numel(); ++i)
      w.data()[i] = std::sin(1.7 * static_cast<double>(i) + 0.6 * salt + 0.3);
    return Doubles(sum(y * w));
  };
  // The weighted sum of all derivatives of one order.
  const std::function<Doubles(int)> at = [&](int order) {
    if (order == 0) return weighted(f(x), 0);
    const Doubles before = at(order - 1);
    if (!before.needs_grad()) return before;  // constant
    Doubles total = zeros<double>({});
    int salt = 10 * order;
    for (const Doubles& g : grad(before, x, {.create_graph = true, .allow_unused = true})) {
      total = total + weighted(g, ++salt);
    }
    return total;
  };
  for (auto& t : x) t = t.detach().clone(), t.requires_grad();
  const Doubles last = at(orders - 1);
  const auto got = last.needs_grad() ? grad(last, x, {.allow_unused = true}) : x;
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::int64_t i = 0; i < x[k].numel(); ++i) {
      double& e = x[k].data()[i];
      const double here = e;
      auto slope = [&](double step) {
        e = here + step;
        const double above = at(orders - 1).item();
        e = here - step;
        const double below = at(orders - 1).item();
        e = here;
        return (above - below) / (2 * step);
      };
      const double want = (4 * slope(5e-4) - slope(1e-3)) / 3, value = last.needs_grad() ? got[k].data()[i] : 0;
      if (!near(value, want, 1e-7))
        return message("order ", orders, ", input ", k, ", element ", i, ": ", value, ", by differences ", want);
    }
  return "";
}

using list = const std::vector<Doubles>&;

}  // namespace orders
