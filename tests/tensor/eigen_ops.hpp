// SPDX-License-Identifier: BSL-1.0
// What the tests that go over all ops on the device EigenCpu share: operands, and ops applied to them.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <kiln/eigen.hpp>

#include "device/cuda/oracles.hpp"
#include "support/compare.hpp"

namespace eigen_ops {

using namespace kiln;

template <class T>
using On = Tensor<T, EigenCpu>;

template <class Op>
constexpr bool over_rows = requires {
  Op::has_identity;
};

template <class F, class... Ops>
void each_op(op_list<Ops...>, F f) {
  (f(std::type_identity<Ops>{}), ...);
}

inline constexpr std::int64_t many = 1501;

// Operands in (-4, 4), the second and third apart from the first and mostly positive.
template <class T>
std::vector<T> drawn(int operand) {
  std::vector<T> all(many);
  for (std::int64_t i = 0; i < many; ++i) {
    const double at = std::sin(0.7 * static_cast<double>(i * (operand + 2)) + operand);
    all[static_cast<std::size_t>(i)] = static_cast<T>(operand == 0 ? 4 * at : 1.5 + 1.4 * at);
  }
  return all;
}

template <class T>
std::vector<On<T>> operands(int arity, bool with_gradient = false) {
  std::vector<On<T>> x;
  for (int k = 0; k < arity; ++k) {
    x.push_back(tensor(drawn<T>(k)).template to<EigenCpu>());
    if (with_gradient) x.back().requires_grad();
  }
  return x;
}

template <class Op, class X, class... More>
auto applied(const X& a, const More&... more) {
  if constexpr (std::is_same_v<Op, where_op>)
    return where(a > 0, more...);
  else
    return apply<Op>(a, more...);
}
template <class Op, class F>
auto with_operands(F f) {
  if constexpr (Op::arity == 1)
    return f(0);
  else if constexpr (Op::arity == 2)
    return f(0, 1);
  else
    return f(0, 1, 2);
}

/// What the tests of all ops call: elementwise ones on floating operands that stand for themselves.
template <class Op>
constexpr bool covered = !over_rows<Op> && Op::accepts(dtype::float32) && !std::is_same_v<Op, cast_op> &&
                         !std::is_same_v<Op, checked_index_op> && !std::is_same_v<Op, take_op>;

}  // namespace eigen_ops
