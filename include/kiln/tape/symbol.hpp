// SPDX-License-Identifier: BSL-1.0
// A symbol is a value that exists only as an instruction: applying an op to symbols writes the tape. An op's rules,
// called with symbols, thereby become program text; this is how gradients and composite ops are written down.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <kiln/core/dtype.hpp>
#include <kiln/tape/program.hpp>

namespace kiln {

namespace detail {
/// A text that names the type Op, as the compiler writes it: different types, different texts.
template <class Op>
constexpr std::string_view type_text() {
  const std::string_view all = __PRETTY_FUNCTION__;
  return all.substr(all.find("Op = ") + 5);
}
/// Whether a type is kiln::NAME_op, as all ops of the library are called.
constexpr bool is_library_type(std::string_view text, std::string_view name) {
  constexpr std::string_view before = "kiln::", after = "_op";
  const std::size_t length = before.size() + name.size() + after.size();
  return text.size() > length && (text[length] == ']' || text[length] == ';') && text.starts_with(before) &&
         text.substr(before.size(), name.size()) == name && text.substr(length - after.size(), after.size()) == after;
}
}  // namespace detail

/// The code of an op. It stands for the type: an op of the library has that of its name, which is the same in every
/// build; an op of your own may be called as one of the library's, or as another of yours, and is not that.
template <class Op>
inline constexpr opcode code_of = detail::is_library_type(detail::type_text<Op>(), Op::name)
                                      ? opcode_of(Op::name)
                                      : opcode_of(detail::type_text<Op>());

/// Marks the op in calls of `apply`; lets each kind of operand bring its own meaning of applying an op.
template <class Op>
struct op_tag {};

/// What an operand has no gradient: comparisons, indices, the condition of `where`.
struct no_gradient {};

struct symbol {
  using operand = void;
  program* on = nullptr;
  int id = -1;

  constexpr symbol() = default;
  constexpr symbol(program* tape, int at) : on(tape), id(at) {}
  constexpr symbol(no_gradient) {}
  constexpr const instruction& now() const { return (*on)[id]; }
  constexpr dtype type() const { return now().type; }
};

/// A constant of the type of `like`.
constexpr symbol constant_like(symbol like, double value) {
  return {like.on,
          like.on->push({.code = opcode::constant, .type = like.type(), .literal = literal_for(like.type(), value)})};
}

/// Whether a value is a number beside tensors: it has no gradient.
constexpr bool is_number(symbol x) {
  return x.now().code == opcode::scalar || x.now().code == opcode::constant;
}

namespace detail {
constexpr symbol as_symbol(symbol x, symbol) {
  return x;
}
template <Number S>
constexpr symbol as_symbol(S x, symbol like) {
  return constant_like(like, static_cast<double>(x));
}
constexpr symbol first_symbol(symbol x, auto...) {
  return x;
}
template <Number S>
constexpr symbol first_symbol(S, auto... rest) {
  return first_symbol(rest...);
}

constexpr symbol push(opcode code, dtype type, symbol a) {
  return {a.on, a.on->push({.code = code, .type = type, .a = static_cast<std::int16_t>(a.id)})};
}
constexpr symbol push(opcode code, dtype type, symbol a, symbol b) {
  return {
      a.on,
      a.on->push(
          {.code = code, .type = type, .a = static_cast<std::int16_t>(a.id), .b = static_cast<std::int16_t>(b.id)})};
}
constexpr symbol push(opcode code, dtype type, symbol a, symbol b, symbol c) {
  return {a.on, a.on->push({.code = code,
                            .type = type,
                            .a = static_cast<std::int16_t>(a.id),
                            .b = static_cast<std::int16_t>(b.id),
                            .c = static_cast<std::int16_t>(c.id)})};
}
}  // namespace detail

/// Anything an op can be applied to while a tape is written: at least one symbol, the rest symbols or numbers.
template <class... X>
concept Symbolic = (std::same_as<X, symbol> || ...) && ((std::same_as<X, symbol> || Number<X>)&&...);

/// Writes `Op(x...)` on the tape. The type of the result is the op's rule on the type of its operands.
template <class Op, class... X>
  requires Symbolic<X...>
constexpr symbol apply_op(op_tag<Op>, X... x) {
  const symbol like = detail::first_symbol(x...);
  // A condition is no model for the type of a constant beside it: where(c, g, 0).
  symbol model = like;
  (
      (void)[&] {
        if constexpr (std::same_as<X, symbol>)
          if (model.type() == dtype::boolean) model = x;
      }(),
      ...);
  return detail::push(code_of<Op>, Op::result(model.type()), detail::as_symbol(x, model)...);
}

}  // namespace kiln
