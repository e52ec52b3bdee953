// SPDX-License-Identifier: BSL-1.0
// Composite ops written out: each is replaced by what its value rule writes, until only primitive ops are left.
#pragma once

#include <kiln/tape/program.hpp>
#include <kiln/tape/rules.hpp>

namespace kiln {

namespace detail {
/// Pushes `from` onto `into` with composite ops written out, but for those of which `keeps(rules)` holds; where each
/// instruction is then, into `place`. Leaf s of what a rule wrote is instruction operands[s] of `into`.
template <class Keeps>
constexpr void write_out(const program& from, program& into, const rule_table& ops, const Keeps& keeps,
                         const int* operands, std::int16_t* place) {
  for (int i = 0; i < from.size(); ++i) {
    instruction now = from[i];
    if (operands && now.code == opcode::leaf) {
      place[i] = static_cast<std::int16_t>(operands[now.slot]);
      continue;
    }
    if (now.a >= 0) now.a = place[now.a];
    if (now.b >= 0) now.b = place[now.b];
    if (now.c >= 0) now.c = place[now.c];
    const found_rules op = ops.find(now.code);
    if (!op || !op->composite || keeps(*op.rules)) {
      place[i] = static_cast<std::int16_t>(into.push(now));
      continue;
    }
    // A rule may itself use composite ops, so what it writes goes through the same door.
    program inner(program::few);
    auto stand_in = [&](int operand, int slot) -> symbol {
      if (operand < 0) return {};
      return {&inner, inner.push({.code = opcode::leaf,
                                  .type = compute_type(into[operand].type),
                                  .slot = static_cast<std::int16_t>(slot)})};
    };
    const symbol a = stand_in(now.a, 0), b = stand_in(now.b, 1), c = stand_in(now.c, 2);
    const int result = ops.expand(*op.rules, a, b, c).id, inner_operands[3] = {now.a, now.b, now.c};
    scratch<std::int16_t> inner_place(inner.size());
    write_out(inner, into, ops, keeps, inner_operands, inner_place.data());
    place[i] = inner_place.data()[result];
  }
}
}  // namespace detail

/// Copies `from` into the empty `into` with composite ops written out, but for those of which `keeps(rules)` holds.
template <class Keeps>
constexpr void expand(const program& from, program& into, const rule_table& ops, const Keeps& keeps) {
  detail::scratch<std::int16_t> places(from.size());
  std::int16_t* const place = places.data();
  detail::write_out(from, into, ops, keeps, nullptr, place);
  for (int r = 0; r < from.result_count; ++r) into.add_result(from.results[r] < 0 ? -1 : place[from.results[r]]);
}
/// With `keep_differentiable`, all but those that have a derivative rule of their own (what the gradient pass wants to
/// see).
constexpr void expand(const program& from, program& into, const rule_table& ops, bool keep_differentiable) {
  expand(from, into, ops, [=](const op_rules& op) { return keep_differentiable && op.differentiable; });
}

}  // namespace kiln
