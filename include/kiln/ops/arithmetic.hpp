// SPDX-License-Identifier: BSL-1.0
// + - * / and what is near them: negation, powers, roots, remainders. On bool, + is "or" and * is "and".
#pragma once

#include <kiln/ops/cast.hpp>
#include <kiln/ops/comparison.hpp>
#include <kiln/ops/logarithm.hpp>
#include <kiln/ops/op.hpp>
#include <kiln/ops/rounding.hpp>
#include <kiln/ops/where.hpp>

namespace kiln {

struct add_op : arithmetic<2> {
  static constexpr std::string_view name = "add", infix = "+";
  static constexpr auto value(auto a, auto b) { return a + b; }
  static constexpr auto value(Truth auto a, Truth auto b) { return a | b; }
  static constexpr auto adjoint(auto g, auto, auto, auto) { return adjoints{g, g}; }
};
struct sub_op : arithmetic<2> {
  static constexpr std::string_view name = "sub", infix = "-";
  static constexpr bool accepts(dtype d) { return d != dtype::boolean; }
  static constexpr auto value(auto a, auto b) { return a - b; }
  static constexpr auto adjoint(auto g, auto, auto, auto) { return adjoints{g, -g}; }
};
struct mul_op : arithmetic<2> {
  static constexpr std::string_view name = "mul", infix = "*";
  static constexpr auto value(auto a, auto b) { return a * b; }
  static constexpr auto value(Truth auto a, Truth auto b) { return a & b; }
  static constexpr auto adjoint(auto g, auto, auto a, auto b) { return adjoints{g * b, g * a}; }
};
struct div_op : floating<2> {
  static constexpr std::string_view name = "div", infix = "/";
  static constexpr bool lengthy = false;
  static constexpr auto value(auto a, auto b) { return a / b; }
  // Not -(g / b * y): g / b overflows for b near 0, where y may be small.
  static constexpr auto adjoint(auto g, auto y, auto, auto b) { return adjoints{g / b, -(g * (y / b))}; }
};
struct neg_op : arithmetic<1> {
  static constexpr std::string_view name = "neg", infix = "-";
  static constexpr bool accepts(dtype d) { return d != dtype::boolean; }
  static constexpr auto value(auto x) { return -x; }
  static constexpr auto adjoint(auto g, auto, auto) { return -g; }
};

/// a + b, element by element with broadcasting; integers wrap around, on bool it is "or".
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator+(A a, B b) {
  return apply<add_op>(std::move(a), std::move(b));
}
/// a - b; integers wrap around. Not defined for bool.
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator-(A a, B b) {
  return apply<sub_op>(std::move(a), std::move(b));
}
/// a * b, element by element; integers wrap around, on bool it is "and".
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator*(A a, B b) {
  return apply<mul_op>(std::move(a), std::move(b));
}
/// a / b, the true quotient: integers are converted to float32 first, so 1/0 is inf and 0/0 nan.
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator/(A a, B b) {
  return apply<div_op>(std::move(a), std::move(b));
}
/// -x; the smallest integer stays itself. Not defined for bool.
template <Operand X>
constexpr auto operator-(X x) {
  return apply<neg_op>(std::move(x));
}

struct square_op : arithmetic<1> {
  static constexpr std::string_view name = "square";
  static constexpr bool composite = true;
  static constexpr auto value(auto x) { return x * x; }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * (2 * x); }
};
struct sqrt_op : floating<1> {
  static constexpr std::string_view name = "sqrt";
  static constexpr bool lengthy = false;
  static constexpr auto value(auto x) { return sqrt(x); }
  static constexpr auto adjoint(auto g, auto y, auto) { return g / (2 * y); }
};
/// The square root of what cannot be negative by its making (a sum of squares): its gradient at 0 is 0, not infinite.
struct root_op : floating<1> {
  static constexpr std::string_view name = "root";
  static constexpr bool composite = true;
  static constexpr auto value(auto x) { return sqrt(x); }
  static constexpr auto adjoint(auto g, auto y, auto) { return where(y == 0, 0, g / (2 * y)); }
};
struct rsqrt_op : floating<1> {
  static constexpr std::string_view name = "rsqrt";
  static constexpr auto value(auto x) { return rsqrt(x); }
  static constexpr auto adjoint(auto g, auto y, auto) { return g * (-0.5 * (y * (y * y))); }
};
struct reciprocal_op : floating<1> {
  static constexpr std::string_view name = "reciprocal";
  static constexpr bool lengthy = false;
  static constexpr auto value(auto x) { return reciprocal(x); }
  static constexpr auto adjoint(auto g, auto y, auto) { return -(g * (y * y)); }
};
struct abs_op : arithmetic<1> {
  static constexpr std::string_view name = "abs";
  static constexpr bool accepts(dtype d) { return d != dtype::boolean; }
  static constexpr auto value(auto x) { return abs(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * sign(x); }
};
struct pow_op : arithmetic<2> {
  static constexpr std::string_view name = "pow";
  static constexpr bool expensive = true;
  static constexpr bool accepts(dtype d) { return d != dtype::boolean; }
  static constexpr auto value(auto a, auto b) { return pow(a, b); }
  // At a = 0 and b = 0 the plain formulas give 0 * inf; the limits are 0.
  static constexpr auto adjoint(auto g, auto y, auto a, auto b) {
    return adjoints{where(b == 0, 0, g * (b * pow(a, b - 1))), where(logical_and(a == 0, b >= 0), 0, g * (y * log(a)))};
  }
};
struct hypot_op : floating<2> {
  static constexpr std::string_view name = "hypot";
  static constexpr auto value(auto a, auto b) { return hypot(a, b); }
  // a / y and b / y, the larger by the smaller: its own derivative is small, and would be the difference of two that
  // are not. (And it is 1 where the larger is infinite.)
  static constexpr auto adjoint(auto g, auto y, auto a, auto b) {
    const auto first = abs(a) > abs(b);
    const auto small = where(first, b, a) / y, large = sqrt(1 - small * small);
    return adjoints{g * where(first, sign(a) * large, small), g * where(first, small, sign(b) * large)};
  }
};
struct fmod_op : arithmetic<2> {
  static constexpr std::string_view name = "fmod";
  static constexpr bool accepts(dtype d) { return d != dtype::boolean; }
  static constexpr auto value(auto a, auto b) { return fmod(a, b); }
  static constexpr auto adjoint(auto g, auto, auto a, auto b) { return adjoints{g, -(g * trunc(a / b))}; }
};
struct remainder_op : arithmetic<2> {
  static constexpr std::string_view name = "remainder";
  static constexpr bool accepts(dtype d) { return d != dtype::boolean; }
  static constexpr auto value(auto a, auto b) { return remainder(a, b); }
  // The quotient that belongs to the remainder y: floor(a / b) is another one where a / b was rounded to an integer.
  // By infinity it is 0 or -1, and by 0 infinite.
  static constexpr auto adjoint(auto g, auto y, auto a, auto b) {
    const auto zero = constant_like(a, 0), whole = a - y;
    const auto by_infinity = where(y == a, zero, where(y == b, -1, y));
    const auto quotient = where(isinf(b), by_infinity, round(where(isfinite(whole), whole / b, a / b - y / b)));
    return adjoints{g, -(g * stop_gradient(where(b == 0, a / b, quotient)))};
  }
};

/// x * x.
template <Operand X>
constexpr auto square(X x) {
  return apply<square_op>(std::move(x));
}
/// Square root; nan below zero.
template <Operand X>
constexpr auto sqrt(X x) {
  return apply<sqrt_op>(std::move(x));
}
/// 1 / sqrt(x).
template <Operand X>
constexpr auto rsqrt(X x) {
  return apply<rsqrt_op>(std::move(x));
}
/// 1 / x.
template <Operand X>
constexpr auto reciprocal(X x) {
  return apply<reciprocal_op>(std::move(x));
}
/// Absolute value; of the smallest integer, itself. Not defined for bool.
template <Operand X>
constexpr auto abs(X x) {
  return apply<abs_op>(std::move(x));
}
/// a to the power b, as std::pow. Integers stay integers and wrap around; a negative power of one is 0, but of 1 and
/// -1. Throws value_error for integers to the power of a negative number.
template <class A, class B>
  requires Operands<A, B>
constexpr auto pow(A a, B b) {
  if constexpr (IntegerOperand<A> && std::is_integral_v<B>)
    if (b < B(0))
      throw value_error(
          message("pow: integers to the power of ", b, ", which would all be fractions: cast<float>() them first"));
  return apply<pow_op>(std::move(a), std::move(b));
}
/// sqrt(a*a + b*b) without undue overflow.
template <class A, class B>
  requires Operands<A, B>
constexpr auto hypot(A a, B b) {
  return apply<hypot_op>(std::move(a), std::move(b));
}
/// Remainder with the sign of a, as std::fmod. Throws value_error for an integer b of 0.
template <class A, class B>
  requires Operands<A, B>
constexpr auto fmod(A a, B b) {
  return apply<fmod_op>(std::move(a), std::move(b));
}
/// Remainder with the sign of b, as Python's %. Throws value_error for an integer b of 0.
template <class A, class B>
  requires Operands<A, B>
constexpr auto remainder(A a, B b) {
  return apply<remainder_op>(std::move(a), std::move(b));
}
/// remainder(a, b), as PyTorch has it: -1 % 3 is 2.
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator%(A a, B b) {
  return apply<remainder_op>(std::move(a), std::move(b));
}

}  // namespace kiln
