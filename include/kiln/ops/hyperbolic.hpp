// SPDX-License-Identifier: BSL-1.0
// Hyperbolic functions and their inverses.
#pragma once

#include <kiln/ops/arithmetic.hpp>
#include <kiln/ops/trigonometric.hpp>

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

namespace detail {
/// 1 / cosh(x)^2 in double, and by differentiating it its derivatives, all with their digits: by exp(-2 |x|), but near
/// 0, where the derivative of that is a difference, by its series.
constexpr auto squared_sech(auto x) {
  const auto s = x * x;
  const auto series = ((((-1382.0 / 14175 * s + 62.0 / 315) * s - 17.0 / 45) * s + 2.0 / 3) * s - 1) * s + 1;
  const auto e = exp(2 * where(x < 0, x, -x)), r = reciprocal(1 + e);
  return where(abs(x) < 0.03, series, 4 * e * (r * r));
}
}  // namespace detail
struct tanh_op : floating<1> {
  static constexpr std::string_view name = "tanh";
  static constexpr auto value(auto x) { return tanh(x); }
  // In float from the result, which costs nothing and needs no operand, but is off by a rounding of 1.
  static constexpr auto adjoint(auto g, auto y, auto x) {
    return in_double(x) ? g * detail::squared_sech(x) : g * (1 - y * y);
  }
};
/// Hyperbolic tangent.
template <Operand X>
constexpr auto tanh(X x) {
  return apply<tanh_op>(std::move(x));
}

struct asinh_op : floating<1> {
  static constexpr std::string_view name = "asinh";
  static constexpr auto value(auto x) { return asinh(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g / hypot(x, 1); }
};
/// Inverse hyperbolic sine.
template <Operand X>
constexpr auto asinh(X x) {
  return apply<asinh_op>(std::move(x));
}

struct acosh_op : floating<1> {
  static constexpr std::string_view name = "acosh";
  static constexpr auto value(auto x) { return acosh(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * (rsqrt(x - 1) * rsqrt(x + 1)); }
};
/// Inverse hyperbolic cosine; nan below 1.
template <Operand X>
constexpr auto acosh(X x) {
  return apply<acosh_op>(std::move(x));
}

struct atanh_op : floating<1> {
  static constexpr std::string_view name = "atanh";
  static constexpr auto value(auto x) { return atanh(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g / detail::one_less_square(x); }
};
/// Inverse hyperbolic tangent; infinite at -1 and 1, nan outside.
template <Operand X>
constexpr auto atanh(X x) {
  return apply<atanh_op>(std::move(x));
}

}  // namespace kiln
