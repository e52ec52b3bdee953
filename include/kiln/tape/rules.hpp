// SPDX-License-Identifier: BSL-1.0
// What passes over tapes know of an op: data and function pointers, found by op code. No op is named here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <kiln/tape/symbol.hpp>

namespace kiln {

/// Contributions to the gradients of an op's operands; a symbol without a tape stands for none.
struct operand_gradients {
  symbol a, b, c;
};

struct op_rules {
  opcode code = opcode::none;
  std::string_view name, infix;
  int arity = 0;
  bool composite = false;            ///< written out by `expand` before anything runs it
  bool reduces = false;              ///< folds a row into one value
  bool dear = false;                 ///< costs more than keeping its value in cache does
  bool differentiable = false;       ///< has `differentiate`
  dtype (*common)(dtype) = nullptr;  ///< what operands of a promoted type are converted to
  dtype (*result)(dtype) = nullptr;  ///< what comes out of operands of a common type
  bool (*accepts)(dtype) = nullptr;  ///< whether the op is defined for operands of a promoted type
  symbol (*expand)(symbol a, symbol b, symbol c) = nullptr;
  operand_gradients (*differentiate)(symbol g, symbol y, symbol a, symbol b, symbol c) = nullptr;
};

/// What a search for rules gave: like a pointer, but tested through a flag. Whether the address of a variable template
/// is null is no constant expression for g++ under -fsanitize=undefined, and most searches happen in one.
struct found_rules {
  const op_rules* rules = nullptr;
  bool found = false;
  explicit constexpr operator bool() const { return found; }
  constexpr const op_rules* operator->() const { return rules; }
};

/// Finds the rules of an op code; none for leaves, scalars and constants.
struct rule_table {
  const op_rules* rules = nullptr;
  const std::int16_t* places = nullptr;
  int buckets = 0;
  opcode add = opcode::none, sum = opcode::none, cast = opcode::none;  ///< what the passes themselves write
  opcode sub = opcode::none, mul = opcode::none;                       ///< what executors join to one rounding

  constexpr int index(opcode code) const {
    std::size_t b = static_cast<std::size_t>(code) % static_cast<std::size_t>(buckets);
    for (; places[b] >= 0; b = (b + 1) % static_cast<std::size_t>(buckets))
      if (rules[places[b]].code == code) return places[b];
    return -1;
  }
  constexpr found_rules find(opcode code) const {
    const int i = is_op(code) ? index(code) : -1;
    return i < 0 ? found_rules{} : found_rules{&rules[i], true};
  }
};

}  // namespace kiln
