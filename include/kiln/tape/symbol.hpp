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
/// A text with the name of the type Op, as the compiler writes it, in a place that is the same for every type.
template <class Op>
constexpr std::string_view text_with_type() {
  return {__PRETTY_FUNCTION__, sizeof(__PRETTY_FUNCTION__) - 1};
}
inline constexpr std::size_t place_of_type = text_with_type<void>().find("void");
/// A text that names the type Op: different types, different texts.
template <class Op>
constexpr std::string_view type_text() {
  return text_with_type<Op>().substr(place_of_type);
}
/// Whether a type is kiln::NAME_op, as all ops of the library are called. (Written out, because
/// compilers take a thousand steps through the library's compare and substr, for each of a hundred ops.)
constexpr bool is_library_type(std::string_view text, std::string_view name) {
  constexpr const char *before = "kiln::", *after = "_op";
  const char* at = text.data();
  for (const char* c = before; *c; ++c)
    if (*at++ != *c) return false;
  const char* const end = name.data() + name.size();
  for (const char* c = name.data(); c != end; ++c)
    if (*at++ != *c) return false;
  for (const char* c = after; *c; ++c)
    if (*at++ != *c) return false;
  return *at == ']' || *at == ';';
}
}  // namespace detail

/// The code of the name of an op.
template <class Op>
inline constexpr opcode name_code_of = opcode_of(Op::name);

/// The code of an op. It stands for the type: an op of the library has that of its name, which is the same in every
/// build; an op of your own may be called as one of the library's, or as another of yours, and is not that.
template <class Op>
inline constexpr opcode code_of = detail::is_library_type(detail::type_text<Op>(), Op::name)
                                      ? name_code_of<Op>
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
  /// The type that the value is computed in: a half leaf is a float from its load on. Rules write instructions of it,
  /// so that they are the same for each type whose values are the same.
  constexpr dtype type() const { return compute_type(now().type); }
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
