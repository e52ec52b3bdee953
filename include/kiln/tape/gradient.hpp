// SPDX-License-Identifier: BSL-1.0
// The gradient as a pass from tape to tape: a reverse sweep over the instructions calls each op's derivative rule on
// symbols, which writes values and adjoints into one program. What is cheap is recomputed; the value of the result
// itself, where a rule wants it, is read back from the tensor that holds it.
#pragma once

#include <cstdint>

#include <kiln/core/error.hpp>
#include <kiln/tape/expand.hpp>
#include <kiln/tape/levels.hpp>
#include <kiln/tape/program.hpp>
#include <kiln/tape/rules.hpp>

namespace kiln {

namespace detail {
class reverse_sweep {
 public:
  constexpr reverse_sweep(const program& value, program& out, const rule_table& ops, int slots, dtype stored)
      : out_(out), ops_(ops), adjoints_(value.size()), adjoint_(adjoints_.data()) {
    for (int i = 0; i < value.size(); ++i) {
      out_.push(value[i]);
      adjoint_[i] = -1;
    }
    const int root = value.results[0];
    const std::uint64_t per_row = level_at(root) == level::row ? 1 : 0;
    adjoint_[root] = static_cast<std::int16_t>(out_.push(
        {.code = opcode::leaf, .type = stored, .slot = static_cast<std::int16_t>(slots), .literal = per_row}));
    for (int i = value.size() - 1; i >= 0; --i) visit(i, value[i]);
    for (int s = 0; s < slots; ++s) {
      int found = -1;
      for (int i = 0; i < value.size(); ++i)
        if (value[i].code == opcode::leaf && value[i].slot == s) found = adjoint_[i];
      out_.add_result(found);
    }
  }
  reverse_sweep(const reverse_sweep&) = delete;
  reverse_sweep& operator=(const reverse_sweep&) = delete;

 private:
  constexpr void visit(int i, instruction now) {
    if (adjoint_[i] < 0 || !is_op(now.code)) return;
    const symbol g{&out_, adjoint_[i]}, y{&out_, i};
    const symbol a = operand(now.a), b = operand(now.b), c = operand(now.c);
    if (now.code == ops_.cast) {
      if (is_floating(out_[now.a].type)) accumulate(now.a, cast_to(g, compute_type(out_[now.a].type)), false);
      return;
    }
    const found_rules op = ops_.find(now.code);
    if (!op || !op->differentiable)
      throw graph_error("an op of this expression has no derivative rule: use stop_gradient() around it");
    const operand_gradients back = op->differentiate(g, y, a, b, c);
    // The gradient of a sum over a value that is constant along the row counts once per element of the row.
    accumulate(now.a, back.a, op->reduces);
    accumulate(now.b, back.b, false);
    accumulate(now.c, back.c, false);
  }
  constexpr symbol operand(int i) { return i < 0 ? symbol{} : symbol{&out_, i}; }
  constexpr symbol cast_to(symbol x, dtype type) {
    return x.type() == type
               ? x
               : symbol{&out_, out_.push({.code = ops_.cast, .type = type, .a = static_cast<std::int16_t>(x.id)})};
  }
  constexpr void accumulate(int into, symbol g, bool from_reduction) {
    if (into < 0 || !g.on) return;
    const level target = level_at(into);
    if (target == level::number) return;  // numbers and constants have no gradient
    if (target == level::row && (from_reduction || level_at(g.id) == level::element))
      g.id = out_.push({.code = ops_.sum, .type = g.type(), .a = static_cast<std::int16_t>(g.id)});
    // A value may be used twice (x * x): add, never assign.
    adjoint_[into] = static_cast<std::int16_t>(
        adjoint_[into] < 0
            ? g.id
            : out_.push(
                  {.code = ops_.add, .type = g.type(), .a = adjoint_[into], .b = static_cast<std::int16_t>(g.id)}));
  }
  constexpr level level_at(int i) {
    for (; known_ <= i; ++known_) {
      if (known_ == room_) levels_.widen(known_, room_ *= 2);
      levels_.data()[known_] = level_of(out_[known_], levels_.data(), ops_);
    }
    return levels_.data()[i];
  }

  program& out_;
  const rule_table& ops_;
  scratch<std::int16_t> adjoints_;
  std::int16_t* adjoint_;
  int known_ = 0, room_ = 64;
  scratch<level> levels_{room_};  // of the first `known_` instructions
};
}  // namespace detail

/// Writes into the empty `out` the gradient program of `value`, a tape with one result and leaves in slots
/// [0, slots). It has two leaves more: slot `slots` is the gradient that arrives, slot `slots + 1` the result's value.
/// Both hold elements of type `stored`, which is narrower than what computes them if the result is of a half type.
/// Result s is the gradient of leaf s, or -1 if it has none. Throws graph_error for an op without a derivative rule.
constexpr void gradient(const program& value, program& out, const rule_table& ops, int slots, dtype stored) {
  program sweep;
  detail::reverse_sweep(value, sweep, ops, slots, stored);
  // Read the result back rather than compute it again. Leaves are as cheap as that, and a tape that is only a leaf
  // must not read what it defines.
  const int root = value.results[0];
  program read_back;
  if (!is_op(value[root].code)) {
    keep_needed(sweep, out);
    return;
  }
  detail::scratch<std::int16_t> places(sweep.size());
  std::int16_t* const place = places.data();
  for (int i = 0; i < sweep.size(); ++i) {
    instruction now = sweep[i];
    if (i == root) {
      detail::scratch<level> level_memory(root);
      level* const levels = level_memory.data();
      for (int k = 0; k <= root; ++k) levels[k] = level_of(sweep[k], levels, ops);
      now = {.code = opcode::leaf,
             .type = stored,
             .slot = static_cast<std::int16_t>(slots + 1),
             .literal = levels[root] == level::row ? 1u : 0u};
    } else {
      if (now.a >= 0) now.a = place[now.a];
      if (now.b >= 0) now.b = place[now.b];
      if (now.c >= 0) now.c = place[now.c];
    }
    place[i] = static_cast<std::int16_t>(read_back.push(now));
  }
  for (int r = 0; r < sweep.result_count; ++r)
    read_back.add_result(sweep.results[r] < 0 ? -1 : place[sweep.results[r]]);
  program flat;
  expand(read_back, flat, ops, false);
  keep_needed(flat, out);
}

}  // namespace kiln
