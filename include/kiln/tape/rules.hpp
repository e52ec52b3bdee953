// SPDX-License-Identifier: BSL-1.0
// What passes over tapes know of an op: data and function pointers, found by op code. No op is named here.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <kiln/core/error.hpp>
#include <kiln/tape/symbol.hpp>

namespace kiln {

/// Contributions to the gradients of an op's operands; a symbol without a tape stands for none.
struct operand_gradients {
  symbol a, b, c;
};

struct op_rules {
  opcode code = opcode::none;
  opcode named = opcode::none;  ///< the code that its name has
  std::string_view name, infix;
  int arity = 0;
  bool composite = false;            ///< written out by `expand` before anything runs it
  bool reduces = false;              ///< folds a row into one value
  bool over_rows = false;            ///< looks at a whole row: folds it, or is written with what does
  bool expensive = false;            ///< costs more than keeping its value in cache does
  bool lengthy = false;              ///< dozens of instructions: where many stand, they are called
  bool differentiable = false;       ///< has `differentiate`
  bool has_identity = true;          ///< of a reduction: false if folding nothing is an error
  dtype (*common)(dtype) = nullptr;  ///< what operands of a promoted type are converted to
  dtype (*result)(dtype) = nullptr;  ///< what comes out of operands of a common type
  bool (*accepts)(dtype) = nullptr;  ///< whether the op is defined for operands of a promoted type
  bool ready = false;                ///< whether the rules below are there, where the op has them
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

namespace detail {
/// The error of a pass that meets an op which cannot be differentiated.
[[noreturn]] inline void throw_without_rule(const found_rules& op) {
  throw graph_error(message("an op of this expression", op ? ", " : "", op ? op->name : std::string_view{},
                            op ? "," : "", " has no derivative rule: use stop_gradient() around it"));
}
}  // namespace detail

/// Ops by their places in a table.
struct op_set {
  static constexpr int words = 4, most = 64 * words;
  std::uint64_t bits[words] = {};

  /// The one in this place; none for -1.
  static constexpr op_set of(int place) {
    op_set one;
    if (place >= 0) one.bits[place / 64] = std::uint64_t{1} << (place % 64);
    return one;
  }
  constexpr int size() const {
    int n = 0;
    for (const std::uint64_t word : bits) n += std::popcount(word);
    return n;
  }
  /// The first place of the set; there must be one.
  constexpr int first() const {
    int w = 0;
    while (bits[w] == 0) ++w;
    return 64 * w + std::countr_zero(bits[w]);
  }
  friend constexpr op_set operator|(op_set a, const op_set& b) {
    for (int w = 0; w < words; ++w) a.bits[w] |= b.bits[w];
    return a;
  }
  friend constexpr op_set operator&(op_set a, const op_set& b) {
    for (int w = 0; w < words; ++w) a.bits[w] &= b.bits[w];
    return a;
  }
  /// Those of a that are not in b.
  friend constexpr op_set operator-(op_set a, const op_set& b) {
    for (int w = 0; w < words; ++w) a.bits[w] &= ~b.bits[w];
    return a;
  }
  constexpr bool operator==(const op_set&) const = default;
};

/// Finds the rules of an op code; none for leaves, scalars and constants.
struct rule_table {
  const op_rules* rules = nullptr;
  const std::int16_t* places = nullptr;
  int buckets = 0;
  opcode add = opcode::none, sum = opcode::none, cast = opcode::none,
         where = opcode::none;                    ///< what the passes themselves write
  opcode sub = opcode::none, mul = opcode::none;  ///< what executors join to one rounding
  op_set* missing = nullptr;  ///< where a pass that needs rules which are not there says so, to be run again with them

  /// The place of an op among the rules, -1 if it is not there. An op that a program brings is also found by its name,
  /// unless another one has the code of that.
  constexpr int index(opcode code) const {
    std::size_t b = static_cast<std::size_t>(code) % static_cast<std::size_t>(buckets);
    int same_name = -1;
    for (; places[b] >= 0; b = (b + 1) % static_cast<std::size_t>(buckets)) {
      if (rules[places[b]].code == code) return places[b];
      if (same_name < 0 && rules[places[b]].named == code) same_name = places[b];
    }
    return same_name;
  }
  constexpr found_rules find(opcode code) const {
    const int i = is_op(code) ? index(code) : -1;
    return i < 0 ? found_rules{} : found_rules{&rules[i], true};
  }

  /// Writes a composite op out.
  constexpr symbol expand(const op_rules& op, symbol a, symbol b, symbol c) const {
    return is_there(op) ? op.expand(a, b, c) : a;
  }
  /// Writes the gradients of an op's operands.
  constexpr operand_gradients differentiate(const op_rules& op, symbol g, symbol y, symbol a, symbol b,
                                            symbol c) const {
    return is_there(op) ? op.differentiate(g, y, a, b, c) : operand_gradients{};
  }

 private:
  constexpr bool is_there(const op_rules& op) const {
    if (op.ready) return true;
    if (!missing) throw value_error("a pass needs the rules of an op of which this table has the facts alone");
    *missing = *missing | op_set::of(index(op.code));
    return false;
  }
};

}  // namespace kiln
