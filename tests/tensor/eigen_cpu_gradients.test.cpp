// SPDX-License-Identifier: BSL-1.0
// The device EigenCpu over all elementwise ops: gradients against differences in long double.
#include <doctest/doctest.h>

#include "tensor/eigen_ops.hpp"

using namespace eigen_ops;

namespace {

/// Ops whose second and third operand are parameters, which get no gradient.
template <class Op>
constexpr bool has_parameters =
    Op::arity > 1 && Op::composite && !std::is_same_v<Op, lerp_op> && !std::is_same_v<Op, clamp_op>;

template <class Op>
void check_gradients() {
  const auto found = oracles::elementwise().find(Op::name);
  if (found == oracles::elementwise().end()) return;
  std::vector<On<double>> x;
  for (int k = 0; k < Op::arity; ++k) x.push_back(tensor(drawn<double>(k)).template to<EigenCpu>());
  for (auto& each : x) each.requires_grad();
  const On<double> y =
      with_operands<Op>([&](auto... k) { return applied<Op>(x[static_cast<std::size_t>(k)]...).eval(); });
  if (!y.needs_grad()) return;
  sum(y).eval().backward();
  const auto f = [&](oracles::real a, oracles::real b, oracles::real c) {
    return found->second.value(std::is_same_v<Op, where_op> ? oracles::real(a > 0) : a, b, c);
  };
  for (int k = std::is_same_v<Op, where_op> ? 1 : 0; k < (has_parameters<Op> ? 1 : Op::arity); ++k) {
    if (!x[static_cast<std::size_t>(k)].has_grad()) continue;
    const auto g = x[static_cast<std::size_t>(k)].grad();
    int wrong = 0;
    for (std::int64_t i = 0; i < many; ++i) {
      oracles::real at[3] = {0, 0, 0};
      for (int j = 0; j < Op::arity; ++j) at[j] = x[static_cast<std::size_t>(j)](i);
      auto slope = [&](oracles::real from, oracles::real to) {
        oracles::real low[3] = {at[0], at[1], at[2]}, high[3] = {at[0], at[1], at[2]};
        low[k] += from;
        high[k] += to;
        return (f(high[0], high[1], high[2]) - f(low[0], low[1], low[2])) / (to - from);
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
        CHECK_MESSAGE(false, std::string(Op::name), ", operand ", k, " at ", static_cast<double>(at[0]), ", ",
                      static_cast<double>(at[1]), ": ", got, ", expected ", want);
    }
  }
}

}  // namespace

TEST_CASE("EigenCpu: gradients of every elementwise op, against differences in long double") {
  each_op(all_ops{}, []<class Op>(std::type_identity<Op>) {
    if constexpr (covered<Op> && !std::is_same_v<Op, polygamma_op> && !std::is_same_v<Op, stop_gradient_op>)
      if constexpr (is_floating(Op::result(dtype::float64))) check_gradients<Op>();
  });
}
