// SPDX-License-Identifier: BSL-1.0
// Logic on truth values and on bits. No gradients.
#pragma once

#include <kiln/ops/op.hpp>

namespace kiln {

struct logical_and_op : logical<2> {
  static constexpr std::string_view name = "logical_and";
  static constexpr auto value(auto a, auto b) { return a & b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// True where both are true (not zero).
template <class A, class B>
  requires Operands<A, B>
constexpr auto logical_and(A a, B b) {
  return apply<logical_and_op>(std::move(a), std::move(b));
}

struct logical_or_op : logical<2> {
  static constexpr std::string_view name = "logical_or";
  static constexpr auto value(auto a, auto b) { return a | b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// True where at least one is true (not zero).
template <class A, class B>
  requires Operands<A, B>
constexpr auto logical_or(A a, B b) {
  return apply<logical_or_op>(std::move(a), std::move(b));
}

struct logical_xor_op : logical<2> {
  static constexpr std::string_view name = "logical_xor";
  static constexpr auto value(auto a, auto b) { return a ^ b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// True where exactly one is true (not zero).
template <class A, class B>
  requires Operands<A, B>
constexpr auto logical_xor(A a, B b) {
  return apply<logical_xor_op>(std::move(a), std::move(b));
}

struct logical_not_op : logical<1> {
  static constexpr std::string_view name = "logical_not", infix = "!";
  static constexpr auto value(auto x) { return !x; }
  static constexpr auto adjoint(auto, auto, auto) { return no_gradient{}; }
};
/// True where x is zero.
template <Operand X>
constexpr auto logical_not(X x) {
  return apply<logical_not_op>(std::move(x));
}

struct bitwise_and_op : bitwise<2> {
  static constexpr std::string_view name = "bitwise_and", infix = "&";
  static constexpr auto value(auto a, auto b) { return a & b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// Bits set in both; on bool, "and".
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator&(A a, B b) {
  return apply<bitwise_and_op>(std::move(a), std::move(b));
}

struct bitwise_or_op : bitwise<2> {
  static constexpr std::string_view name = "bitwise_or", infix = "|";
  static constexpr auto value(auto a, auto b) { return a | b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// Bits set in one or both; on bool, "or".
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator|(A a, B b) {
  return apply<bitwise_or_op>(std::move(a), std::move(b));
}

struct bitwise_xor_op : bitwise<2> {
  static constexpr std::string_view name = "bitwise_xor", infix = "^";
  static constexpr auto value(auto a, auto b) { return a ^ b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// Bits set in exactly one; on bool, "exclusive or".
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator^(A a, B b) {
  return apply<bitwise_xor_op>(std::move(a), std::move(b));
}

struct left_shift_op : bitwise<2> {
  static constexpr std::string_view name = "left_shift", infix = "<<";
  static constexpr bool accepts(dtype d) { return !is_floating(d) && d != dtype::boolean; }
  static constexpr auto value(auto a, auto b) { return a << b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// a times 2 to the power b; bits beyond the type are lost.
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator<<(A a, B b) {
  return apply<left_shift_op>(std::move(a), std::move(b));
}

struct right_shift_op : bitwise<2> {
  static constexpr std::string_view name = "right_shift", infix = ">>";
  static constexpr bool accepts(dtype d) { return !is_floating(d) && d != dtype::boolean; }
  static constexpr auto value(auto a, auto b) { return a >> b; }
  static constexpr auto adjoint(auto, auto, auto, auto) { return adjoints{no_gradient{}, no_gradient{}}; }
};
/// a shifted right by b bits, keeping the sign.
template <class A, class B>
  requires Operands<A, B>
constexpr auto operator>>(A a, B b) {
  return apply<right_shift_op>(std::move(a), std::move(b));
}

struct bitwise_not_op : bitwise<1> {
  static constexpr std::string_view name = "bitwise_not", infix = "~";
  static constexpr auto value(auto x) { return ~x; }
  static constexpr auto adjoint(auto, auto, auto) { return no_gradient{}; }
};
/// Every bit flipped; on bool, "not".
template <Operand X>
constexpr auto operator~(X x) {
  return apply<bitwise_not_op>(std::move(x));
}

/// Logical "not" of a bool tensor or expression.
template <Operand X>
constexpr auto operator!(X x) {
  return apply<logical_not_op>(std::move(x));
}

/// Not possible: && and || are to evaluate their right side only where the left one does not decide.
template <class A, class B>
requires Operands<A, B> A operator&&(const A& a, const B&) {
  static_assert(detail::never<A, B>,
                "kiln: && asks for one truth value on each side, and tensors have many: write logical_and(a, b), or "
                "(a > 0) & (b > 0) for comparisons");
  return a;
}
/// Not possible, as &&.
template <class A, class B>
requires Operands<A, B> A operator||(const A& a, const B&) {
  static_assert(detail::never<A, B>,
                "kiln: || asks for one truth value on each side, and tensors have many: write logical_or(a, b), or "
                "(a > 0) | (b > 0) for comparisons");
  return a;
}

}  // namespace kiln
