// SPDX-License-Identifier: BSL-1.0
// The gradient as a pass from tape to tape: a reverse sweep over the instructions calls each op's derivative rule on
// symbols, which writes values and adjoints into one program. What is cheap is recomputed; the value of a result, where
// a rule wants it, is read back from the tensor that holds it. A gradient program has several results and is a tape
// like any other: it can be differentiated again.
#pragma once

#include <cstdint>

#include <kiln/core/error.hpp>
#include <kiln/tape/expand.hpp>
#include <kiln/tape/levels.hpp>
#include <kiln/tape/program.hpp>
#include <kiln/tape/rules.hpp>

namespace kiln {

/// How a result of a tape is delivered to whoever asked for it.
struct delivered_result {
  dtype stored = dtype::float32;  ///< what its elements, and those of its gradient, are stored as
  level at = level::element;      ///< one value per row, or one per element, also of what is the same along a row
  bool arrives = true;            ///< false: no gradient of it arrives, which counts as zeros
  bool read_back = true;          ///< its value can be read, and need not be computed again
};

namespace detail {

/// Under which choices of `where` an adjoint counts: of a chain from here to the outermost, all. The adjoint itself is
/// carried on as if it counted everywhere, and chosen only where it arrives; so what a branch that is not taken would
/// multiply it with, be it infinite, leaves no trace.
struct adjoint_guard {
  std::int16_t outer = -1, condition = -1;  ///< a guard; the instruction that is the condition
  bool taken = true;                        ///< counts where the condition is true, else where it is false
  std::int16_t depth = 0;
};
/// What has been added up for a value under one guard, in a list of those under other guards.
struct guarded_adjoint {
  std::int16_t value = -1, guard = -1, next = -1;
};

/// An array that grows while a pass runs.
template <class T>
class growing {
 public:
  constexpr int size() const { return size_; }
  constexpr T& operator[](int i) { return reserved_.data()[i]; }
  constexpr int push(const T& value) {
    if (size_ == capacity_) reserved_.widen(size_, capacity_ *= 2);
    reserved_.data()[size_] = value;
    return size_++;
  }

 private:
  int size_ = 0, capacity_ = 16;
  scratch<T> reserved_{capacity_};
};

class reverse_sweep {
 public:
  constexpr reverse_sweep(const program& value, program& out, const rule_table& ops, int slots,
                          const delivered_result* results)
      : value_(value), out_(out), ops_(ops), results_(results), lists_(value.size()), list_(lists_.data()) {
    for (int i = 0; i < value.size(); ++i) {
      out_.push(value[i]);
      list_[i] = -1;
    }
    for (int r = 0; r < value.result_count; ++r) {
      if (value.results[r] < 0 || !results[r].arrives) continue;
      const std::uint64_t per_row = results[r].at == level::row ? 1 : 0;
      accumulate(value.results[r],
                 {&out_, out_.push({.code = opcode::leaf,
                                    .type = results[r].stored,
                                    .slot = static_cast<std::int16_t>(slots + r),
                                    .literal = per_row})},
                 -1, false);
    }
    for (int i = value.size() - 1; i >= 0; --i) visit(i, value[i]);
    for (int s = 0; s < slots; ++s) {
      int found = -1;
      for (int i = 0; i < value.size(); ++i)
        if (value[i].code == opcode::leaf && value[i].slot == s) found = i;
      out_.add_result(found < 0 || list_[found] < 0 ? -1 : chosen(joined(found), -1));
    }
  }
  reverse_sweep(const reverse_sweep&) = delete;
  reverse_sweep& operator=(const reverse_sweep&) = delete;

 private:
  constexpr void visit(int i, instruction now) {
    if (list_[i] < 0 || !is_op(now.code)) return;
    const guarded_adjoint arrived = joined(i);
    const symbol y{&out_, i};
    symbol g{&out_, arrived.value}, a = operand(now.a);
    const symbol b = operand(now.b), c = operand(now.c);
    // What goes from each element of a row into a value per row is summed, also where it is the same in all of them.
    const bool each = level_at(i) == level::element;
    if (now.code == ops_.cast) {
      if (is_floating(out_[now.a].type))
        accumulate(now.a, cast_to(g, compute_type(out_[now.a].type)), arrived.guard, each);
      return;
    }
    if (now.code == ops_.where) {
      accumulate(now.b, g, guard_within(arrived.guard, now.a, true), each);
      accumulate(now.c, g, guard_within(arrived.guard, now.a, false), each);
      return;
    }
    const found_rules op = ops_.find(now.code);
    if (!op || !op->differentiable) throw_without_rule(op);
    int guard = arrived.guard;
    if (op->over_rows) {  // its rule adds up what other elements bring
      g.id = chosen(arrived, -1);
      guard = -1;
    }
    if (op->reduces) a = as_stored_with(i, a);
    const operand_gradients back = ops_.differentiate(*op.rules, g, y, a, b, c);
    // The gradient of a sum over a value that is constant along the row counts once per element of the row.
    accumulate(now.a, back.a, guard, each || op->reduces);
    accumulate(now.b, back.b, guard, each);
    accumulate(now.c, back.c, guard, each);
  }
  /// A result is read back as it was rounded to be stored: what a rule compares it with must be rounded so, too.
  constexpr symbol as_stored_with(int result, symbol x) {
    for (int r = 0; r < value_.result_count; ++r)
      if (value_.results[r] == result && results_[r].read_back && compute_type(results_[r].stored) == x.type())
        return cast_to(x, results_[r].stored);
    return x;
  }
  constexpr symbol operand(int i) { return i < 0 ? symbol{} : symbol{&out_, i}; }
  constexpr symbol cast_to(symbol x, dtype type) {
    return x.type() == type || x.now().type == type
               ? x
               : symbol{&out_, out_.push({.code = ops_.cast, .type = type, .a = static_cast<std::int16_t>(x.id)})};
  }
  constexpr void accumulate(int into, symbol g, int guard, bool summed) {
    if (into < 0 || !g.on) return;
    const level target = level_at(into);
    if (target == level::number) return;  // numbers and constants have no gradient
    if (target == level::row) {
      bool per_element = summed || level_at(g.id) == level::element;
      for (int at = guard; at >= 0; at = guards_[at].outer)
        per_element |= level_at(guards_[at].condition) == level::element;
      if (per_element) {
        g.id = chosen({static_cast<std::int16_t>(g.id), static_cast<std::int16_t>(guard)}, -1);
        g.id = out_.push({.code = ops_.sum, .type = g.type(), .a = static_cast<std::int16_t>(g.id)});
        guard = -1;
      }
    }
    add(into, g.id, guard);
  }

  // ---- guards

  constexpr int guard_within(int outer, int condition, bool taken) {
    const adjoint_guard made{static_cast<std::int16_t>(outer), static_cast<std::int16_t>(condition), taken,
                             static_cast<std::int16_t>(outer < 0 ? 1 : guards_[outer].depth + 1)};
    for (int i = 0; i < guards_.size(); ++i) {
      const adjoint_guard& g = guards_[i];
      if (g.outer == outer && g.condition == condition && g.taken == taken) return i;
    }
    return guards_.push(made);
  }
  /// Adds to what has arrived at a value under this guard. (A value may be used twice: add, never assign.)
  constexpr void add(int into, int value, int guard) {
    for (int at = list_[into]; at >= 0; at = adjoints_[at].next)
      if (adjoints_[at].guard == guard) {
        adjoints_[at].value = static_cast<std::int16_t>(sum_of(adjoints_[at].value, value));
        return;
      }
    list_[into] = static_cast<std::int16_t>(
        adjoints_.push({static_cast<std::int16_t>(value), static_cast<std::int16_t>(guard), list_[into]}));
  }
  constexpr int sum_of(int a, int b) {
    return out_.push({.code = ops_.add,
                      .type = symbol(&out_, b).type(),
                      .a = static_cast<std::int16_t>(a),
                      .b = static_cast<std::int16_t>(b)});
  }
  constexpr int choice(int condition, int a, int b) {
    return out_.push({.code = ops_.where,
                      .type = symbol(&out_, a).type(),
                      .a = static_cast<std::int16_t>(condition),
                      .b = static_cast<std::int16_t>(a),
                      .c = static_cast<std::int16_t>(b)});
  }
  /// The adjoint where the innermost choice of its guard is made, else 0.
  constexpr guarded_adjoint one_out(const guarded_adjoint& x) {
    const adjoint_guard g = guards_[x.guard];
    const dtype type = symbol(&out_, x.value).type();
    const int zero = out_.push({.code = opcode::constant, .type = type, .literal = literal_for(type, 0)});
    return {
        static_cast<std::int16_t>(g.taken ? choice(g.condition, x.value, zero) : choice(g.condition, zero, x.value)),
        g.outer};
  }
  constexpr int chosen(guarded_adjoint x, int until) {
    while (x.guard != until) x = one_out(x);
    return x.value;
  }
  /// All that has arrived at a value, under the guard that is common to it: innermost choices are made first, and the
  /// two sides of one choice by one instruction.
  constexpr guarded_adjoint joined(int i) {
    while (adjoints_[list_[i]].next >= 0) {
      int deepest = list_[i];
      for (int at = list_[i]; at >= 0; at = adjoints_[at].next)
        if (depth_of(adjoints_[at].guard) > depth_of(adjoints_[deepest].guard)) deepest = at;
      const guarded_adjoint x = adjoints_[deepest];
      remove(i, deepest);
      const adjoint_guard g = guards_[x.guard];
      int other = list_[i];
      while (other >= 0 && !is_other_side(adjoints_[other].guard, g)) other = adjoints_[other].next;
      if (other < 0) {
        const guarded_adjoint out = one_out(x);
        add(i, out.value, out.guard);
        continue;
      }
      const int beside = adjoints_[other].value;
      remove(i, other);
      add(i, g.taken ? choice(g.condition, x.value, beside) : choice(g.condition, beside, x.value), g.outer);
    }
    return adjoints_[list_[i]];
  }
  constexpr int depth_of(int guard) { return guard < 0 ? 0 : guards_[guard].depth; }
  constexpr bool is_other_side(int guard, const adjoint_guard& of) {
    return guard >= 0 && guards_[guard].outer == of.outer && guards_[guard].condition == of.condition &&
           guards_[guard].taken != of.taken;
  }
  constexpr void remove(int i, int entry) {
    if (list_[i] == entry) {
      list_[i] = adjoints_[entry].next;
      return;
    }
    int at = list_[i];
    while (adjoints_[at].next != entry) at = adjoints_[at].next;
    adjoints_[at].next = adjoints_[entry].next;
  }

  constexpr level level_at(int i) {
    for (; known_ <= i; ++known_) {
      if (known_ == reserved_) levels_.widen(known_, reserved_ *= 2);
      levels_.data()[known_] = level_of(out_[known_], levels_.data(), ops_);
    }
    return levels_.data()[i];
  }

  const program& value_;
  program& out_;
  const rule_table& ops_;
  const delivered_result* results_;
  scratch<std::int16_t> lists_;
  std::int16_t* list_;  // by value: the first of what has arrived
  growing<guarded_adjoint> adjoints_;
  growing<adjoint_guard> guards_;
  int known_ = 0, reserved_ = 64;
  scratch<level> levels_{reserved_};  // of the first `known_` instructions
};
}  // namespace detail

/// Writes into the empty `out` the gradient program of `value`, a tape with leaves in slots [0, slots) and R results
/// that are delivered as `results` says. Slot `slots + r` of it is the gradient of result r that arrives, slot
/// `slots + R + r` the value of result r. Its own result s is the gradient of leaf s, or -1 if it has none. Throws
/// graph_error for an op without a derivative rule.
constexpr void gradient(const program& value, program& out, const rule_table& ops, int slots,
                        const delivered_result* results) {
  program sweep;
  detail::reverse_sweep(value, sweep, ops, slots, results);
  detail::scratch<level> level_memory(value.size());
  level* const levels = level_memory.data();
  for (int i = 0; i < value.size(); ++i) levels[i] = level_of(value[i], levels, ops);
  // Results are read back rather than computed again. Leaves are as cheap as that, and a tape that is only a leaf must
  // not read what it defines.
  auto read_from = [&](int i) {
    for (int r = 0; r < value.result_count; ++r)
      if (value.results[r] == i && results[r].read_back && is_op(value[i].code) && results[r].at == levels[i]) return r;
    return -1;
  };
  program read_back;
  detail::scratch<std::int16_t> places(sweep.size());
  std::int16_t* const place = places.data();
  for (int i = 0; i < sweep.size(); ++i) {
    instruction now = sweep[i];
    if (const int r = i < value.size() ? read_from(i) : -1; r >= 0) {
      now = {.code = opcode::leaf,
             .type = results[r].stored,
             .slot = static_cast<std::int16_t>(slots + value.result_count + r),
             .literal = levels[i] == level::row ? 1u : 0u};
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

/// The same of a tape with one result, which is one value per row if that is what it computes.
constexpr void gradient(const program& value, program& out, const rule_table& ops, int slots, dtype stored) {
  detail::scratch<level> levels(value.size());
  for (int i = 0; i < value.size(); ++i) levels.data()[i] = level_of(value[i], levels.data(), ops);
  const delivered_result result{.stored = stored,
                                .at = levels.data()[value.results[0]] == level::row ? level::row : level::element};
  gradient(value, out, ops, slots, &result);
}

}  // namespace kiln
