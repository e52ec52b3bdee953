// SPDX-License-Identifier: BSL-1.0
// What calls by name need to know of an op besides its rules: what becomes of numbers beside tensors, and how long its
// tape is. Made from the one list of ops.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <kiln/ops/all.hpp>
#include <kiln/tape/expand.hpp>

namespace kiln::dynamic::graph {

struct op_facts {
  const op_rules* rules = nullptr;
  number_rule (*numbers)(int place) = nullptr;  ///< null: wraps
  bool compares = false;
  bool rest_are_numbers = false;  ///< all operands but the first must be numbers
  std::size_t place = 0;          ///< in the list of ops
};

namespace facts {
template <class Op>
constexpr bool is_activation =
    std::is_base_of_v<activation<Op::arity>, Op> || std::is_base_of_v<limiter<Op::arity>, Op>;

template <class Op>
constexpr op_facts of(const op_rules& rules, std::size_t place) {
  op_facts f{.rules = &rules, .place = place};
  if constexpr (requires { Op::numbers(0); }) f.numbers = &Op::numbers;
  if constexpr (requires { Op::compares; }) f.compares = Op::compares;
  f.rest_are_numbers = is_activation<Op>;
  return f;
}
template <class List>
struct table;
template <class... Ops>
struct table<op_list<Ops...>> {
  static constexpr std::array<op_facts, sizeof...(Ops)> all = [] {
    std::size_t i = 0;
    return std::array<op_facts, sizeof...(Ops)>{[&] {
      const std::size_t at = i++;
      return of<Ops>(op_table<op_list<Ops...>>::facts[at], at);
    }()...};
  }();
};
}  // namespace facts

/// The facts of an op by its name; null if there is none.
inline const op_facts* find_op(std::string_view name) {
  const int i = op_facts_table.index(opcode_of(name));
  if (i < 0) return nullptr;
  const op_facts& f = facts::table<all_ops>::all[static_cast<std::size_t>(i)];
  return f.rules->name == name ? &f : nullptr;
}

/// Whether call() may be asked for it: what casts, looks elsewhere or sees whole rows has functions of its own.
inline bool is_pointwise(const op_facts& f) {
  return !f.rules->over_rows && f.rules->code != op_facts_table.cast && f.rules->name != "checked_index" &&
         f.rules->name != "take";
}

/// How long a tape becomes by this op: its instructions written out, and more for what is expensive, of which rows keep
/// values.
inline int weight_of(const op_facts& f) {
  static std::array<std::atomic<std::int16_t>, all_ops::size> known{};
  std::atomic<std::int16_t>& mine = known[f.place];
  if (const int found = mine.load(std::memory_order_relaxed)) return found;
  program alone, flat;
  instruction now{.code = f.rules->code, .type = dtype::float32};
  std::int16_t* const operands[] = {&now.a, &now.b, &now.c};
  for (int i = 0; i < f.rules->arity; ++i)
    *operands[i] = static_cast<std::int16_t>(
        alone.push({.code = opcode::leaf, .type = dtype::float32, .slot = static_cast<std::int16_t>(i)}));
  alone.add_result(alone.push(now));
  expand(alone, flat, op_rules_table, false);
  const int weight = std::max(flat.size() - f.rules->arity, f.rules->expensive ? 5 : 1);
  mine.store(static_cast<std::int16_t>(weight), std::memory_order_relaxed);
  return weight;
}

}  // namespace kiln::dynamic::graph
