// SPDX-License-Identifier: BSL-1.0
// Exponentials, and the logistic sigmoid.
#pragma once

#include <kiln/ops/arithmetic.hpp>
#include <kiln/ops/hyperbolic.hpp>

namespace kiln {

struct exp_op : floating<1> {
  static constexpr std::string_view name = "exp";
  static constexpr auto value(auto x) { return exp(x); }
  static constexpr auto adjoint(auto g, auto y, auto) { return g * y; }
};
/// e to the power x.
template <Operand X>
constexpr auto exp(X x) {
  return apply<exp_op>(std::move(x));
}

struct exp2_op : floating<1> {
  static constexpr std::string_view name = "exp2";
  static constexpr auto value(auto x) { return exp2(x); }
  static constexpr auto adjoint(auto g, auto y, auto) { return g * (y * 0.69314718055994530942); }
};
/// 2 to the power x.
template <Operand X>
constexpr auto exp2(X x) {
  return apply<exp2_op>(std::move(x));
}

struct expm1_op : floating<1> {
  static constexpr std::string_view name = "expm1";
  static constexpr auto value(auto x) { return expm1(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * exp(x); }
};
/// exp(x) - 1, accurate near 0.
template <Operand X>
constexpr auto expm1(X x) {
  return apply<expm1_op>(std::move(x));
}

struct sigmoid_op : floating<1> {
  static constexpr std::string_view name = "sigmoid";
  static constexpr auto value(auto x) { return sigmoid(x); }
  // In float from the result, which costs nothing and needs no operand, but is off by a rounding of 1.
  static constexpr auto adjoint(auto g, auto y, auto x) {
    return in_double(x) ? g * (0.25 * detail::squared_sech(0.5 * x)) : g * (y * (1 - y));
  }
};
/// 1 / (1 + exp(-x)), without overflow.
template <Operand X>
constexpr auto sigmoid(X x) {
  return apply<sigmoid_op>(std::move(x));
}

}  // namespace kiln
