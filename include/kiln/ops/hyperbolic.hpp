// SPDX-License-Identifier: BSL-1.0
// Hyperbolic functions and their inverses.
#pragma once

#include <kiln/ops/arithmetic.hpp>

namespace kiln {

struct sinh_op : floating<1> {
  static constexpr std::string_view name = "sinh";
  static constexpr auto value(auto x) { return sinh(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * cosh(x); }
};
/// Hyperbolic sine.
template <Operand X>
constexpr auto sinh(X x) {
  return apply<sinh_op>(std::move(x));
}

struct cosh_op : floating<1> {
  static constexpr std::string_view name = "cosh";
  static constexpr auto value(auto x) { return cosh(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * sinh(x); }
};
/// Hyperbolic cosine.
template <Operand X>
constexpr auto cosh(X x) {
  return apply<cosh_op>(std::move(x));
}

struct tanh_op : floating<1> {
  static constexpr std::string_view name = "tanh";
  static constexpr auto value(auto x) { return tanh(x); }
  static constexpr auto adjoint(auto g, auto y, auto) { return g * (1 - y * y); }
};
/// Hyperbolic tangent.
template <Operand X>
constexpr auto tanh(X x) {
  return apply<tanh_op>(std::move(x));
}

struct asinh_op : floating<1> {
  static constexpr std::string_view name = "asinh";
  static constexpr auto value(auto x) { return asinh(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * rsqrt(x * x + 1); }
};
/// Inverse hyperbolic sine.
template <Operand X>
constexpr auto asinh(X x) {
  return apply<asinh_op>(std::move(x));
}

struct acosh_op : floating<1> {
  static constexpr std::string_view name = "acosh";
  static constexpr auto value(auto x) { return acosh(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * rsqrt(x * x - 1); }
};
/// Inverse hyperbolic cosine; nan below 1.
template <Operand X>
constexpr auto acosh(X x) {
  return apply<acosh_op>(std::move(x));
}

struct atanh_op : floating<1> {
  static constexpr std::string_view name = "atanh";
  static constexpr auto value(auto x) { return atanh(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g / (1 - x * x); }
};
/// Inverse hyperbolic tangent; infinite at -1 and 1, nan outside.
template <Operand X>
constexpr auto atanh(X x) {
  return apply<atanh_op>(std::move(x));
}

}  // namespace kiln
