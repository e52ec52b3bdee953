// SPDX-License-Identifier: BSL-1.0
// The definitions of infix.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <kiln/tape/infix.hpp>

namespace kiln {

KILN_INLINE std::string number_text(double value, dtype type) {
  if (type == dtype::boolean) return value != 0 ? "true" : "false";
  char text[40];
  char* const end = text + sizeof(text);
  const std::to_chars_result done = type == dtype::float64 || !is_floating(type)
                                        ? std::to_chars(text, end, value)
                                        : std::to_chars(text, end, static_cast<float>(value));
  return {text, done.ptr};
}

namespace detail {

KILN_INLINE std::string name_in(const std::vector<std::string>& names, int slot, const char* otherwise) {
  const std::size_t k = static_cast<std::size_t>(slot);
  return slot >= 0 && k < names.size() && !names[k].empty() ? names[k] : otherwise + std::to_string(slot);
}

KILN_INLINE std::string leaf_text(const instruction& now, const tape_names& names) {
  switch (now.code) {
    case opcode::leaf:
      return name_in(names.leaves, now.slot, "x");
    case opcode::scalar:
      return name_in(names.numbers, now.slot, "n");
    default:
      return number_text(number_in(now), now.type);
  }
}

KILN_INLINE int precedence(std::string_view symbol, int arity) {
  constexpr int unary = 11;
  if (arity == 1) return unary;
  constexpr std::pair<std::string_view, int> binary[] = {
      {"*", 10}, {"/", 10}, {"%", 10}, {"+", 9},  {"-", 9},  {"<<", 8}, {">>", 8}, {"<", 7},
      {"<=", 7}, {">", 7},  {">=", 7}, {"==", 6}, {"!=", 6}, {"&", 5},  {"^", 4},  {"|", 3}};
  for (const auto& [operator_text, level] : binary)
    if (operator_text == symbol) return level;
  return 0;
}

}  // namespace detail

KILN_INLINE std::string infix(const tape_view& t, const rule_table& ops, const tape_names& names) {
  return detail::infix_printer(t, ops, names).print();
}

KILN_INLINE std::string listing(const tape_view& t, const rule_table& ops, const tape_names& names) {
  std::string out;
  auto value = [](int i) { return i < 0 ? std::string("none") : "%" + std::to_string(i); };
  for (int i = 0; i < t.size; ++i) {
    const instruction& now = t[i];
    const found_rules op = ops.find(now.code);
    const std::string_view what = now.code == opcode::leaf       ? "leaf"
                                  : now.code == opcode::scalar   ? "number"
                                  : now.code == opcode::constant ? "constant"
                                  : op                           ? op->name
                                                                 : "unknown_op";
    out += value(i) + " = " + std::string(what) + " " + std::string(name(now.type));
    if (!is_op(now.code)) out += " " + detail::leaf_text(now, names);
    if (now.code == opcode::leaf && kind_of(now) == leaf_kind::row) out += " per row";
    for (int operand : {now.a, now.b, now.c})
      if (operand >= 0) out += " " + value(operand);
    out += "\n";
  }
  out += "result";
  for (int r = 0; r < t.result_count; ++r) out += " " + value(t.results[r]);
  return out + "\n";
}

}  // namespace kiln
