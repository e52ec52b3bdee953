// SPDX-License-Identifier: BSL-1.0
// Comparisons and predicates. They give bool and have no gradient.
#pragma once

#include <kiln/ops/op.hpp>

namespace kiln {

struct eq_op : comparison<2> {
  static constexpr std::string_view name = "eq", infix = "==";
  static constexpr auto value(auto a, auto b) { return a == b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// a == b, as bool; nan equals nothing.
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator==(A a, B b) {
  return apply<eq_op>(std::move(a), std::move(b));
}

struct ne_op : comparison<2> {
  static constexpr std::string_view name = "ne", infix = "!=";
  static constexpr auto value(auto a, auto b) { return a != b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// a != b, as bool.
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator!=(A a, B b) {
  return apply<ne_op>(std::move(a), std::move(b));
}

struct lt_op : comparison<2> {
  static constexpr std::string_view name = "lt", infix = "<";
  static constexpr auto value(auto a, auto b) { return a < b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// a < b, as bool.
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator<(A a, B b) {
  return apply<lt_op>(std::move(a), std::move(b));
}

struct le_op : comparison<2> {
  static constexpr std::string_view name = "le", infix = "<=";
  static constexpr auto value(auto a, auto b) { return a <= b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// a <= b, as bool.
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator<=(A a, B b) {
  return apply<le_op>(std::move(a), std::move(b));
}

struct gt_op : comparison<2> {
  static constexpr std::string_view name = "gt", infix = ">";
  static constexpr auto value(auto a, auto b) { return a > b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// a > b, as bool.
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator>(A a, B b) {
  return apply<gt_op>(std::move(a), std::move(b));
}

struct ge_op : comparison<2> {
  static constexpr std::string_view name = "ge", infix = ">=";
  static constexpr auto value(auto a, auto b) { return a >= b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// a >= b, as bool.
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator>=(A a, B b) {
  return apply<ge_op>(std::move(a), std::move(b));
}

struct isnan_op : comparison<1> {
  static constexpr std::string_view name = "isnan";
  static constexpr auto value(auto x) { return isnan(x); }
  static constexpr auto value(Whole auto x) { return x != x; }
  static constexpr auto adjoint(auto, auto, auto) { return no_gradient{}; }
};
/// True where x is not a number.
template <Operand X>
constexpr auto isnan(X x) {
  return apply<isnan_op>(std::move(x));
}

struct isinf_op : comparison<1> {
  static constexpr std::string_view name = "isinf";
  static constexpr auto value(auto x) { return isinf(x); }
  static constexpr auto value(Whole auto x) { return x != x; }
  static constexpr auto adjoint(auto, auto, auto) { return no_gradient{}; }
};
/// True where x is +inf or -inf.
template <Operand X>
constexpr auto isinf(X x) {
  return apply<isinf_op>(std::move(x));
}

struct isfinite_op : comparison<1> {
  static constexpr std::string_view name = "isfinite";
  static constexpr auto value(auto x) { return isfinite(x); }
  static constexpr auto value(Whole auto x) { return x == x; }
  static constexpr auto adjoint(auto, auto, auto) { return no_gradient{}; }
};
/// True where x is neither infinite nor nan.
template <Operand X>
constexpr auto isfinite(X x) {
  return apply<isfinite_op>(std::move(x));
}

}  // namespace kiln
