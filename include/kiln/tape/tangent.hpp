// SPDX-License-Identifier: BSL-1.0
// Forward mode as a pass from tape to tape: next to each value stands its tangent, the change of the value where the
// leaves change by theirs. It comes of the same derivative rules as the gradient. A rule is linear in the gradient g
// that arrives, so with g = the tangent of one operand, what an elementwise rule hands to that operand is the
// operand's share of the result's tangent.
#pragma once

#include <cstdint>

#include <kiln/core/error.hpp>
#include <kiln/tape/expand.hpp>
#include <kiln/tape/program.hpp>
#include <kiln/tape/rules.hpp>

namespace kiln {

/// Which leaves change: bit s for the leaf in slot s.
using leaf_mask = std::uint64_t;
inline constexpr leaf_mask all_leaves = ~leaf_mask{0};

namespace detail {

class forward_sweep {
 public:
  constexpr forward_sweep(const program& value, program& out, const rule_table& ops, int slots, leaf_mask moving)
      : out_(out), ops_(ops), slots_(slots), moving_(moving), places_(value.size()), tangents_(value.size()) {
    for (int i = 0; i < value.size(); ++i) visit(i, value[i]);
    for (int r = 0; r < value.result_count; ++r) out_.add_result(at(places_, value.results[r]));
    for (int r = 0; r < value.result_count; ++r) out_.add_result(at(tangents_, value.results[r]));
  }
  forward_sweep(const forward_sweep&) = delete;
  forward_sweep& operator=(const forward_sweep&) = delete;

 private:
  static constexpr int at(scratch<std::int16_t>& list, int i) { return i < 0 ? -1 : list.data()[i]; }

  constexpr void visit(int i, instruction now) {
    const int before[3] = {now.a, now.b, now.c};
    if (now.a >= 0) now.a = places_.data()[now.a];
    if (now.b >= 0) now.b = places_.data()[now.b];
    if (now.c >= 0) now.c = places_.data()[now.c];
    const symbol y{&out_, out_.push(now)};
    symbol moved[3] = {};
    for (int k = 0; k < 3; ++k)
      if (const int t = at(tangents_, before[k]); t >= 0) moved[k] = {&out_, t};
    const symbol dy = tangent_of(now, y, moved);
    places_.data()[i] = static_cast<std::int16_t>(y.id);
    tangents_.data()[i] = static_cast<std::int16_t>(dy.on ? dy.id : -1);
  }
  constexpr symbol tangent_of(instruction now, symbol y, const symbol* moved) {
    if (now.code == opcode::leaf) return leaf_tangent(now);
    if (!moved[0].on && !moved[1].on && !moved[2].on) return {};
    if (now.code == ops_.cast) {
      if (!is_floating(now.type)) return {};
      now.a = static_cast<std::int16_t>(moved[0].id);
      return {&out_, out_.push(now)};
    }
    // What is read at an address changes by what stands at the same place of the tangent.
    for (int k = 0; k < 3; ++k)
      if (moved[k].on && is_address(moved[k].now())) {
        (k == 0 ? now.a : k == 1 ? now.b : now.c) = static_cast<std::int16_t>(moved[k].id);
        return {&out_, out_.push(now)};
      }
    const found_rules op = ops_.find(now.code);
    if (!op || !op->differentiable) throw_without_rule(op);
    const symbol operands[3] = {operand(now.a), operand(now.b), operand(now.c)};
    symbol sum;
    for (int k = 0; k < 3; ++k) {
      if (!moved[k].on) continue;
      const symbol share =
          op->reduces ? folded(*op.rules, k, y, operands, moved[k])
                      : part(ops_.differentiate(*op.rules, moved[k], y, operands[0], operands[1], operands[2]), k);
      if (!share.on) continue;
      sum = sum.on ? push(ops_.add, share.type(), sum, share) : share;
    }
    return sum;
  }
  // A reduction's gradient is one value per row, which its rule spreads over the elements. Where 1 arrives it therefore
  // gives the derivative by each element: times their tangents, summed.
  constexpr symbol folded(const op_rules& op, int k, symbol y, const symbol* operands, symbol moved) {
    const symbol one = constant_like(y, 1);
    const symbol slope = part(ops_.differentiate(op, one, y, operands[0], operands[1], operands[2]), k);
    if (!slope.on) return {};
    const symbol product = slope.id == one.id ? moved : push(ops_.mul, slope.type(), slope, moved);
    return push(ops_.sum, product.type(), product);
  }
  constexpr symbol leaf_tangent(instruction now) {
    const bool moves = now.slot < slots_ && (now.slot >= 64 || (moving_ >> now.slot & 1)) && is_floating(now.type) &&
                       !is_drawn(kind_of(now));
    if (!moves) return {};
    now.slot = static_cast<std::int16_t>(now.slot + slots_);
    return {&out_, out_.push(now)};
  }
  constexpr symbol operand(int i) { return i < 0 ? symbol{} : symbol{&out_, i}; }
  static constexpr symbol part(const operand_gradients& back, int k) {
    return k == 0 ? back.a : k == 1 ? back.b : back.c;
  }

  program& out_;
  const rule_table& ops_;
  int slots_;
  leaf_mask moving_;
  scratch<std::int16_t> places_, tangents_;  // where values and their tangents stand in `out`
};

/// Whether what the composite op stands for holds reductions: an element of its result depends on a whole row.
constexpr bool holds_reductions(const op_rules& op, const rule_table& ops) {
  program inner, flat;
  symbol operands[3] = {};
  for (int k = 0; k < op.arity; ++k)
    operands[k] = {&inner,
                   inner.push({.code = opcode::leaf, .type = dtype::float32, .slot = static_cast<std::int16_t>(k)})};
  inner.add_result(ops.expand(op, operands[0], operands[1], operands[2]).id);
  expand(inner, flat, ops, false);
  for (int i = 0; i < flat.size(); ++i)
    if (const found_rules found = ops.find(flat[i].code); found && found->reduces) return true;
  return false;
}

}  // namespace detail

/// Writes into the empty `out` the values of `value`, a tape with leaves in slots [0, slots), and after them their
/// tangents: with n results, result n + r is the tangent of result r, or -1 if it does not change. The tangent of the
/// leaf in slot s is the leaf in slot `slots + s`; of leaves that are not `moving`, of integers and of random numbers
/// there is none. Throws graph_error for an op without a derivative rule.
constexpr void tangent(const program& value, program& out, const rule_table& ops, int slots,
                       leaf_mask moving = all_leaves) {
  program kept, swept, flat;
  // The rule of a row function sums over the row what arrives: that is the transposed derivative, so these are written
  // out. The others keep their rules.
  expand(value, kept, ops,
         [&](const op_rules& op) { return op.differentiable && (op.reduces || !detail::holds_reductions(op, ops)); });
  detail::forward_sweep(kept, swept, ops, slots, moving);
  expand(swept, flat, ops, false);
  keep_needed(flat, out);
}

}  // namespace kiln
