// SPDX-License-Identifier: BSL-1.0
// Trigonometric functions and their inverses.
#pragma once

#include <kiln/ops/arithmetic.hpp>
#include <kiln/ops/comparison.hpp>
#include <kiln/ops/where.hpp>

namespace kiln {

struct sin_op : floating<1> {
  static constexpr std::string_view name = "sin";
  static constexpr auto value(auto x) { return sin(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * cos(x); }
};
/// Sine of x radians.
template <Operand X>
constexpr auto sin(X x) {
  return apply<sin_op>(std::move(x));
}

struct cos_op : floating<1> {
  static constexpr std::string_view name = "cos";
  static constexpr auto value(auto x) { return cos(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return -(g * sin(x)); }
};
/// Cosine of x radians.
template <Operand X>
constexpr auto cos(X x) {
  return apply<cos_op>(std::move(x));
}

struct tan_op : floating<1> {
  static constexpr std::string_view name = "tan";
  static constexpr auto value(auto x) { return tan(x); }
  static constexpr auto adjoint(auto g, auto y, auto) { return g * (1 + y * y); }
};
/// Tangent of x radians.
template <Operand X>
constexpr auto tan(X x) {
  return apply<tan_op>(std::move(x));
}

namespace detail {
/// 1 - x^2, and its derivative, to the last digits: near 1 the square has lost those of 1 - x, and near 0 the
/// difference of the product's parts those of x.
constexpr auto one_less_square(auto x) {
  return where(abs(x) < 0.5, 1 - x * x, (1 - x) * (1 + x));
}
}  // namespace detail
struct asin_op : floating<1> {
  static constexpr std::string_view name = "asin";
  static constexpr auto value(auto x) { return asin(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * rsqrt(detail::one_less_square(x)); }
};
/// Arc sine, in radians; nan outside [-1, 1].
template <Operand X>
constexpr auto asin(X x) {
  return apply<asin_op>(std::move(x));
}

struct acos_op : floating<1> {
  static constexpr std::string_view name = "acos";
  static constexpr auto value(auto x) { return acos(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return -(g * rsqrt(detail::one_less_square(x))); }
};
/// Arc cosine, in radians; nan outside [-1, 1].
template <Operand X>
constexpr auto acos(X x) {
  return apply<acos_op>(std::move(x));
}

struct atan_op : floating<1> {
  static constexpr std::string_view name = "atan";
  static constexpr auto value(auto x) { return atan(x); }
  // Far off by 1 / x, since the derivative of the other form would divide by the square of 1 + x^2.
  static constexpr auto adjoint(auto g, auto, auto x) {
    const auto r = reciprocal(x);
    return g * where(abs(x) > 1e8, r * r, reciprocal(1 + x * x));
  }
};
/// Arc tangent, in radians.
template <Operand X>
constexpr auto atan(X x) {
  return apply<atan_op>(std::move(x));
}

struct atan2_op : floating<2> {
  static constexpr std::string_view name = "atan2";
  static constexpr auto value(auto a, auto b) { return atan2(a, b); }
  static constexpr auto adjoint(auto g, auto, auto a, auto b) {
    // Squares would under- and overflow. At the origin it is 0, as PyTorch has it, and so are its derivatives.
    const auto r = hypot(a, b), q = g / r;
    return adjoints{where(r == 0, 0, q * (b / r)), where(r == 0, 0, -(q * (a / r)))};
  }
};
/// The angle, in radians, of the point (b, a), with the quadrant that std::atan2 gives.
template <class A, class B>
  requires Operands<A, B>
constexpr auto atan2(A a, B b) {
  return apply<atan2_op>(std::move(a), std::move(b));
}

}  // namespace kiln
