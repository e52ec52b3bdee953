// SPDX-License-Identifier: BSL-1.0
// The device EigenCpu over all elementwise ops: gradients against differences in long double.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tensor/eigen_ops.hpp"

using namespace eigen_ops;

namespace {

/// Ops whose second and third operand are parameters, which get no gradient.
template <class Op>
constexpr bool has_parameters =
    Op::arity > 1 && Op::composite && !std::is_same_v<Op, lerp_op> && !std::is_same_v<Op, clamp_op>;

// What of a test depends on no op is a function of its own, compiled once.

void compare_gradients(std::string_view name, const oracles::oracle& found, const std::vector<On<double>>& x,
                       bool chooses, int differentiated) {
  const auto f = [&](const oracles::real* at) {
    return found.value(chooses ? oracles::real(at[0] > 0) : at[0], at[1], at[2]);
  };
  for (int k = chooses ? 1 : 0; k < differentiated; ++k) {
    if (!x[static_cast<std::size_t>(k)].has_grad()) continue;
    const auto g = x[static_cast<std::size_t>(k)].grad();
    int wrong = 0;
    for (std::int64_t i = 0; i < many; ++i) {
      oracles::real at[3] = {0, 0, 0};
      for (std::size_t j = 0; j < x.size(); ++j) at[j] = x[j](i);
      auto slope = [&](oracles::real from, oracles::real to) {
        oracles::real low[3] = {at[0], at[1], at[2]}, high[3] = {at[0], at[1], at[2]};
        low[k] += from;
        high[k] += to;
        return (f(high) - f(low)) / (to - from);
      };
      constexpr oracles::real h = 1e-6L;
      const auto left = slope(-h, 0), right = slope(0, h);
      const auto want = static_cast<double>(slope(-h, h));
      // At a kink, at a pole, and at a jump there is no derivative to compare with.
      if (!std::isfinite(want) || !std::isfinite(left) || !(std::abs(left - right) <= 1e-3L * (1 + std::abs(left))) ||
          std::abs(want) > 1e4)
        continue;
      const double got = g(i);
      if (!test::same_or_close(got, want, 2e-6, 2e-7) && wrong++ == 0)
        CHECK_MESSAGE(false, std::string(name), ", operand ", k, " at ", static_cast<double>(at[0]), ", ",
                      static_cast<double>(at[1]), ": ", got, ", expected ", want);
    }
    CHECK(wrong == 0);
  }
}

template <class Op>
void check_gradients() {
  const auto found = oracles::elementwise().find(Op::name);
  if (found == oracles::elementwise().end()) return;
  const std::vector<On<double>> x = operands<double>(Op::arity, true);
  const On<double> y =
      with_operands<Op>([&](auto... k) { return applied<Op>(x[static_cast<std::size_t>(k)]...).eval(); });
  if (!y.needs_grad()) return;
  sum(y).eval().backward();
  compare_gradients(Op::name, found->second, x, std::is_same_v<Op, where_op>, has_parameters<Op> ? 1 : Op::arity);
}

}  // namespace

TEST_CASE("EigenCpu: gradients of every elementwise op, against differences in long double") {
  each_op(all_ops{}, []<class Op>(std::type_identity<Op>) {
    if constexpr (covered<Op> && !std::is_same_v<Op, polygamma_op> && !std::is_same_v<Op, stop_gradient_op>)
      if constexpr (is_floating(Op::result(dtype::float64))) check_gradients<Op>();
  });
}
