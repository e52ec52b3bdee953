// SPDX-License-Identifier: BSL-1.0
// Evaluates pending cells: one tape for all that goes together, kept by its form, run by the interpreter and recorded
// as one node of the graph of gradients.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <kiln/autograd/create_graph.hpp>
#include <kiln/core/growing_list.hpp>
#include <kiln/core/recently_used.hpp>
#include <kiln/dynamic/pending.hpp>
#include <kiln/dynamic/tape_writer.hpp>

namespace kiln::dynamic::graph {

struct counters {
  std::int64_t evaluations = 0, instructions = 0, programs = 0;
};
inline thread_local constinit counters counted{};

/// What tells one program from another.
struct program_key {
  tape_key tape;
  dtype stored = dtype::float32;
  bool reduction_rooted = false;
  bool operator==(const program_key&) const = default;
};

/// The program of a tape: that of an equal one, if it was asked for not long ago.
inline std::shared_ptr<const detail::tape_program> program_of(const tape_writer& w, dtype stored) {
  static constinit detail::never_destroyed<detail::recently_used<program_key, detail::tape_program, 256>> known;
  const program_key which{key({&w.code[0], w.code.size(), w.code.results, w.code.result_count}), stored,
                          w.reduction_rooted};
  if (auto found = known.value.find(which)) return found;
  program written, primitive, kept;
  expand(w.code, primitive, op_rules_table, false);
  keep_needed(primitive, written);
  expand(w.code, kept, op_rules_table, true);
  auto made = std::make_shared<const detail::tape_program>(
      written, static_cast<int>(w.leaves.size()),
      std::vector<delivered_result>{{.stored = stored, .at = w.reduction_rooted ? level::row : level::element}}, &kept);
  ++counted.programs;
  known.value.keep(which, made);
  return made;
}

/// Runs the tape of a cell.
inline ref<tensor_state> run(const cell& of, const tape_writer& w) {
  const detail::recording_scope record(of.tracked);
  const auto what = program_of(w, of.type);
  ref<tensor_state> made =
      detail::evaluate_tape(what, functions_of(of.where), w.how, w.leaves, w.numbers, {of.sizes})[0];
  ++counted.evaluations;
  counted.instructions += w.code.size();
  return made;
}

inline void evaluate_as(cell& x, bool keeps) {
  if (x.is == form::number || x.is == form::value) return;
  ref<tensor_state> value;
  for (bool rows = true; !value;) {
    tape_writer w(x, rows, keeps);
    if (!w.first.empty()) {
      // One that is kept because others read it is one tape, whatever else went along with it.
      for (const std::shared_ptr<cell>& each : w.first) evaluate_as(*each, !each->went_along);
    } else if (w.misplaced()) {
      rows = false;
    } else {
      value = run(x, w);
      w.note_what_went_along();
    }
  }
  // From here on nothing throws.
  x.computed = moment(*value->memory);
  x.value = std::move(value);
  x.is = form::value;
  for (operand& o : x.in) o = {};
  x.arity = 0;
}

KILN_INLINE void evaluate(cell& x) {
  evaluate_as(x, true);
}

KILN_INLINE const ref<tensor_state>& state_of(cell& x) {
  if (x.is == form::number && !x.value) {
    const std::shared_ptr<cell> made = materialised(x);
    x.value = made->value;
  }
  evaluate(x);
  if (x.value->is_view) detail::follow_base(*x.value);
  return x.value;
}

KILN_INLINE std::shared_ptr<cell> cell_of(ref<tensor_state> state, device where) {
  auto made = std::make_shared<cell>();
  made->type = state->type;
  made->sizes = state->sizes;
  made->where = where;
  made->value = std::move(state);
  return made;
}

}  // namespace kiln::dynamic::graph
