// SPDX-License-Identifier: BSL-1.0
// What an op is: a record with a name, a value rule and a derivative rule, derived from one of the kinds below.
// The rules are generic, so the same text runs on vectors of numbers, writes tapes (symbols) and builds lazy
// expressions. `apply<Op>(x...)` is the one door from a call to any of these.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>
#include <kiln/tape/symbol.hpp>

namespace kiln {

namespace detail {
// One condition by name, because compilers list those that a concept is made of.
template <class X>
inline constexpr bool is_tensor_or_expression = requires {
  typename std::remove_cvref_t<X>::operand;
}
|| std::is_same_v<std::remove_cvref_t<X>, float> || std::is_same_v<std::remove_cvref_t<X>, double>;
}  // namespace detail

/// A tensor, a lazy expression, a symbol, or a plain float or double: something ops can be applied to. (What they do to
/// plain numbers stands in device/cpu/kernel/plain.hpp.)
template <class X>
concept Operand = detail::is_tensor_or_expression<X>;

namespace detail {
template <class T>
concept NumberInMemory = Number<T> && !std::same_as<std::remove_cvref_t<T>, char>;
/// A vector, array or pointer of numbers, which is taken for a tensor sometimes. Text is not.
template <class X>
concept NoOperand = !Operand<X> && (NumberInMemory<std::remove_pointer_t<std::decay_t<X>>> || requires(const X& x) {
  requires NumberInMemory<decltype(*x.data())>;
  x.size();
}) && !Number<X>;
template <class X>
concept TensorOperand = requires {
  typename std::remove_cvref_t<X>::operand;
};
template <class... X>
concept ProperOperands = (Operand<X> || ...) && ((Operand<X> || Number<X>)&&...);
// What is taken for a tensor beside one is let through as far as apply, which refuses it by a sentence, so that nobody
// has to read a list of candidates.
template <class... X>
concept MistakenOperands = (TensorOperand<X> || ...) && ((Operand<X> || Number<X> || NoOperand<X>)&&...);
// Concepts within, because they look at what decides only.
template <class... X>
inline constexpr bool are_operands = ProperOperands<X...> || MistakenOperands<X...>;
}  // namespace detail

/// Operands and numbers, at least one of them an operand.
template <class... X>
concept Operands = detail::are_operands<X...>;

/// Applies an op to operands; what that means is theirs: a symbol writes an instruction, an expression a lazy node.
template <class Op, class... X>
constexpr auto apply(X&&... x) {
  return apply_op(op_tag<Op>{}, static_cast<X&&>(x)...);
}

/// Operands of which the type is known to be an integer one: tensors and expressions.
template <class X>
concept IntegerOperand = Operand<X> && requires {
  requires std::is_integral_v<typename X::value_type>;
};

/// Whether a rule's value is computed in double, where a rule needs to know.
constexpr bool in_double(symbol x) {
  return compute_type(x.type()) == dtype::float64;
}
template <class V>
constexpr bool in_double(V) {
  return std::same_as<typename V::value_type, double>;
}

/// What becomes of an integer beside tensors of an integer type that cannot hold it.
enum class number_rule : std::uint8_t {
  wraps,    ///< as sums and products of the type do
  refused,  ///< comparisons, and what hands numbers on: the answer would be wrong
  lower,    ///< a lower limit: below the type it limits nothing and becomes the least value; above it is refused
  upper,    ///< an upper limit, likewise
};

/// Values of an integer type or bool, and truth values, where a rule needs to know.
template <class V>
concept Whole = std::integral<typename V::value_type>;
template <class V>
concept Truth = std::same_as<typename V::value_type, bool>;

/// The derivatives of an op with several operands, in their order.
template <class A, class B, class C = no_gradient>
struct adjoints {
  A a;
  B b;
  C c{};
};
template <class A, class B>
adjoints(A, B) -> adjoints<A, B>;
template <class A, class B, class C>
adjoints(A, B, C) -> adjoints<A, B, C>;

/// Kinds of ops. `common` is the type that operands of promoted type d are converted to, `result` what comes out,
/// `accepts` whether the op is defined for it at all.
template <int Arity>
struct elementwise {
  static constexpr int arity = Arity;
  static constexpr bool composite = false, reduces = false;
  static constexpr bool expensive = false;       ///< costs more than keeping its value in cache does
  static constexpr bool lengthy = false;         ///< dozens of instructions: where many stand, they are called
  static constexpr std::string_view infix = {};  ///< the symbol of an operator, if the op is written as one
  static constexpr bool accepts(dtype) { return true; }
  static constexpr dtype common(dtype d) { return d; }
  static constexpr bool compares = false;                                   ///< operands with each other
  static constexpr number_rule numbers(int) { return number_rule::wraps; }  ///< of the operand in this place
};
/// Keeps the type: + - *, minimum, abs.
template <int Arity>
struct arithmetic : elementwise<Arity> {
  static constexpr dtype result(dtype d) { return d; }
};
/// Integers become float32 first: /, exp, sqrt.
template <int Arity>
struct floating : elementwise<Arity> {
  static constexpr bool expensive = true, lengthy = true;
  static constexpr dtype common(dtype d) { return is_floating(d) ? d : dtype::float32; }
  static constexpr dtype result(dtype d) { return d; }
};
/// Gives bool: <, isnan.
template <int Arity>
struct comparison : elementwise<Arity> {
  static constexpr dtype result(dtype) { return dtype::boolean; }
  static constexpr bool compares = true;
  static constexpr number_rule numbers(int) { return number_rule::refused; }
};
/// Operands count as true where they are not zero; gives bool.
template <int Arity>
struct logical : elementwise<Arity> {
  static constexpr dtype common(dtype) { return dtype::boolean; }
  static constexpr dtype result(dtype) { return dtype::boolean; }
};
/// For integers and bool only.
template <int Arity>
struct bitwise : elementwise<Arity> {
  static constexpr bool accepts(dtype d) { return !is_floating(d); }
  static constexpr dtype result(dtype d) { return d; }
};

}  // namespace kiln
