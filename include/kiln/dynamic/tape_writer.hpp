// SPDX-License-Identifier: BSL-1.0
// Writes what is pending below a cell on one tape: elements over one domain, reductions over one set of its axes, and
// what is computed of these per row. What does not go on this tape is named, to be evaluated first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <kiln/device/common/bits.hpp>
#include <kiln/dynamic/cell.hpp>
#include <kiln/dynamic/op_facts.hpp>
#include <kiln/expr/shape.hpp>
#include <kiln/tape/levels.hpp>
#include <kiln/tape/program.hpp>
#include <kiln/tensor/expression_facts.hpp>
#include <kiln/tensor/run.hpp>
#include <kiln/tensor/view_metadata.hpp>

namespace kiln::dynamic::graph {

/// A number as an operand of an op on elements of a type, by the rules of the static functions.
inline std::uint64_t number_bits(const cell& x, dtype type, number_rule rule, bool compares, std::string_view op) {
  return visit_dtype(type, [&]<class T>(std::type_identity<T>) -> std::uint64_t {
    if constexpr (std::is_integral_v<T> && !std::same_as<T, bool>) {
      if (!x.whole) return common::to_bits(static_cast<T>(x.real));
      const T back = static_cast<T>(x.integer);
      if (static_cast<std::int64_t>(back) != x.integer && rule != number_rule::wraps) {
        const bool negative = x.integer < 0;
        if (rule != (negative ? number_rule::lower : number_rule::upper))
          throw value_error(message(op, ": ", x.integer, " is no value of ", name(type),
                                    ": convert the tensor with to(kiln::dtype::int64), or use a number that its type "
                                    "holds"));
        return common::to_bits(negative ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max());
      }
      return common::to_bits(back);
    } else {
      using C = compute_t<T>;
      const C value = x.whole ? static_cast<C>(x.integer) : static_cast<C>(x.real);
      if constexpr (!std::same_as<T, C>)
        if (compares) return common::to_bits(static_cast<C>(static_cast<T>(value)));
      return common::to_bits(value);
    }
  });
}

/// The sizes of what an operand gives.
inline const dims& sizes_of(const operand& o) {
  return o.state ? o.state->sizes : o.of->sizes;
}
/// The pending cell that an operand is, or null.
inline cell* pending_of(const operand& o) {
  return o.of && o.of->pending() ? o.of.get() : nullptr;
}

class tape_writer {
 public:
  /// Without `rows`, no reduction that meets elements again goes on the tape; with `keeps`, nothing that went along
  /// before and is held.
  tape_writer(cell& root, bool rows, bool keeps) : root_(root), rows_(rows), keeps_(keeps) {
    const int result = write_root();
    if (!first.empty()) return;
    code.add_result(result);
    how.reduction_rooted = reduction_rooted;
  }

  program code;                           ///< composite ops as written
  std::vector<ref<tensor_state>> leaves;  ///< by slot
  std::vector<std::uint64_t> numbers;     ///< by slot
  detail::evaluation how;
  bool reduction_rooted = false;  ///< the result is one value per row
  /// To be evaluated before: then there is no tape. (Shared: one may end by the evaluation of another that read it.)
  std::vector<std::shared_ptr<cell>> first;

  /// When the tape has run.
  void note_what_went_along() {
    for (const auto& known : written_)
      for (const auto& each : known) each.first->went_along = true;
  }
  /// Whether the result is one value per row though its place is among elements: rows that are one element each.
  bool misplaced() const {
    return !reduction_rooted && levels_[static_cast<std::size_t>(code.results[0])] == level::row;
  }

 private:
  // ---- what the tape runs over

  // The reduction that gives the root's rows, or null: the first that is met by ops on values of the root's sizes.
  const cell* find_rows(const cell& x, int& whole_rows, std::unordered_set<const cell*>& seen) const {
    if (!seen.insert(&x).second) return nullptr;
    if (x.is == form::row) {
      if (x.reduces) return &x;
      whole_rows |= static_cast<int>(x.axes) + 1;
      return nullptr;
    }
    for (int i = 0; i < x.arity; ++i)
      if (const cell* next = pending_of(x.in[static_cast<std::size_t>(i)]); next && next->sizes == root_.sizes)
        if (const cell* found = find_rows(*next, whole_rows, seen)) return found;
    return nullptr;
  }
  // Whether all that the root computes per row can be had: reductions of one kind, and tensors of exactly its sizes.
  bool fits_rows(const cell& x, std::unordered_set<const cell*>& seen) const {
    if (x.is == form::row || !seen.insert(&x).second) return true;
    for (int i = 0; i < x.arity; ++i) {
      const operand& o = x.in[static_cast<std::size_t>(i)];
      if (o.of && o.of->is == form::number) continue;
      if (sizes_of(o) != root_.sizes) return false;
      if (const cell* next = pending_of(o); next && !fits_rows(*next, seen)) return false;
    }
    return true;
  }
  int write_root() {
    int whole_rows = 0;
    std::unordered_set<const cell*> seen, seen_again;
    const cell* const rows = find_rows(root_, whole_rows, seen);
    if (rows && whole_rows == 0 && fits_rows(root_, seen_again)) {
      reduction_rooted = true;
      how.domain = sizes_of(rows->in[0]);
      how.axes = rows->axes;
      how.keepdim = rows->keepdim;
      has_axes_ = true;
      return write_cell(root_, true);
    }
    how.domain = root_.sizes;
    if (root_.is == form::row && !root_.reduces) {
      how.axes = root_.axes;
      has_axes_ = true;
    }
    return write_cell(root_, false);
  }

  // ---- what stands on it

  int write_cell(cell& x, bool per_row) {
    auto& known = written_[per_row];
    if (const auto found = known.find(&x); found != known.end()) return found->second;
    if (compared_again(x, per_row) && pending_of(x.in[0])) {
      add_first(x.in[0].of);
      return 0;
    }
    const bool reads_rows = per_row && x.is != form::row;
    instruction now{.code = x.code, .type = x.is == form::cast ? x.type : compute_type(x.type)};
    std::int16_t* const places[] = {&now.a, &now.b, &now.c};
    const op_facts& f = *find_op(x.name);
    const dtype common = f.rules->common(type_of_operands(x));
    for (int i = 0; i < x.arity; ++i)
      *places[i] = static_cast<std::int16_t>(write(x.in[static_cast<std::size_t>(i)], reads_rows, x, f, common, i));
    if (x.is == form::row)
      for (int i = 1; i < f.rules->arity; ++i)
        *places[i] = static_cast<std::int16_t>(
            push_number(common::to_bits(x.numbers[static_cast<std::size_t>(i - 1)]), now.type));
    if (!first.empty()) return 0;
    // What is one value per row is nothing to fold, or to look at a whole row of.
    if (x.is == form::row && levels_[static_cast<std::size_t>(now.a)] != level::element) {
      add_first(x.in[0].of);
      return 0;
    }
    int at = now.a;
    // A half becomes a float at its load: no instruction.
    if (!(x.is == form::cast && compute_type(code[now.a].type) == now.type)) at = push(now);
    known.emplace(&x, at);
    return at;
  }
  void add_first(const std::shared_ptr<cell>& x) {
    if (std::find(first.begin(), first.end(), x) == first.end()) first.push_back(x);
  }
  // Whether a reduction's result may be compared with the elements that it was chosen from, by what stands on the tape
  // or by its derivative rule. Elements that are computed again in another pass may be rounded in other places: those
  // have to come from memory.
  static bool compared_again(const cell& x, bool per_row) {
    if (x.is != form::row || !x.reduces) return false;
    if (x.code == opcode_of(max_op::name) || x.code == opcode_of(min_op::name)) return x.tracked || !per_row;
    return x.code == opcode_of(prod_op::name) && x.tracked;
  }
  // The type of an op's tensors before its own rule; of `where`, of what is chosen from.
  static dtype type_of_operands(const cell& x) {
    for (int i = x.code == op_facts_table.where ? 1 : 0; i < x.arity; ++i) {
      const operand& o = x.in[static_cast<std::size_t>(i)];
      if (o.state) return o.state->type;
      if (o.of->is != form::number) return o.of->type;
    }
    return x.type;
  }
  int write(operand& o, bool per_row, const cell& by, const op_facts& f, dtype common, int place) {
    if (o.state) return push_leaf(with_metadata(o), per_row);
    cell& x = *o.of;
    if (x.is == form::number) {
      const dtype type = by.code == op_facts_table.where && place == 0 ? dtype::boolean : common;
      return push_number(
          number_bits(x, type, f.numbers ? f.numbers(place) : number_rule::wraps, f.compares, f.rules->name),
          compute_type(type), &x);
    }
    int at = 0;
    if (x.is == form::value) {
      if (x.computed.has_passed(*x.value->memory)) changed(*x.value);
      const ref<tensor_state>& state = state_of(x);
      at = push_leaf(o.tracked ? state : without_metadata(state), per_row);
      return at;
    }
    // What one tape after the other would compute anew, and somebody else holds, had better be kept.
    const bool keeps = keeps_ && x.went_along && x.weight > 2 && o.of.use_count() > 1;
    if (keeps || !joins(x, per_row, by)) {
      add_first(o.of);
      return 0;
    }
    at = write_cell(x, per_row);
    if (first.empty() && !o.tracked && flows_[static_cast<std::size_t>(at)])
      at = push({.code = opcode_of(stop_gradient_op::name),
                 .type = compute_type(code[at].type),
                 .a = static_cast<std::int16_t>(at)});
    return at;
  }
  // Whether a pending cell goes on this tape.
  bool joins(cell& x, bool per_row, const cell& by) {
    if (per_row) {
      if (x.is != form::row) return true;  // fits_rows has looked
      return x.reduces && sizes_of(x.in[0]) == how.domain && x.axes == how.axes && x.keepdim == how.keepdim;
    }
    if (x.is != form::row) return x.sizes == how.domain || (rows_ && holds_rows(x));
    // A row program's reductions fold elements, not values per row.
    if (by.is == form::row && by.reduces && x.reduces) return false;
    return rows_ && is_row_here(x);
  }
  bool is_row_here(cell& x) {
    if (sizes_of(x.in[0]) != how.domain || (has_axes_ && x.axes != how.axes)) return false;
    if (x.reduces && !x.keepdim && (x.axes & (x.axes + 1)) != 0) return false;  // would not line up with its rows
    how.axes = x.axes;
    has_axes_ = true;
    return true;
  }
  // Whether values of fewer elements than the domain are computed of reductions over it: then they are had on the way.
  bool holds_rows(const cell& x) {
    if (const auto known = holds_.find(&x); known != holds_.end()) return known->second;
    return holds_[&x] = finds_rows_in(x);
  }
  bool finds_rows_in(const cell& x) {
    bool any = false;
    for (int i = 0; i < x.arity; ++i) {
      cell* const next = pending_of(x.in[static_cast<std::size_t>(i)]);
      if (!next) continue;
      if (next->is == form::row ? !(next->reduces && is_row_here(*next)) : !holds_rows(*next)) return false;
      any = true;
    }
    return any;
  }

  // ---- instructions

  int push(const instruction& now) {
    const int at = code.push(now);
    if (static_cast<std::size_t>(at) == levels_.size()) {
      levels_.push_back(level_of(now, levels_.data(), op_facts_table));
      bool flows = false;
      if (now.code == opcode::leaf)
        flows = static_cast<bool>(leaves[static_cast<std::size_t>(now.slot)]->autograd_metadata);
      if (now.code != opcode_of(stop_gradient_op::name))
        for (const int x : {int{now.a}, int{now.b}, int{now.c}})
          if (is_op(now.code) && x >= 0) flows = flows || flows_[static_cast<std::size_t>(x)];
      flows_.push_back(flows);
    }
    return at;
  }
  int push_leaf(const ref<tensor_state>& state, bool per_row) {
    std::size_t slot = 0;
    while (slot < leaves.size() && !(per_row == of_rows_[slot] && same_leaf(*leaves[slot], *state))) ++slot;
    if (slot == leaves.size()) {
      leaves.push_back(state);
      of_rows_.push_back(per_row);
    }
    return push({.code = opcode::leaf,
                 .type = state->type,
                 .slot = static_cast<std::int16_t>(slot),
                 .literal = static_cast<std::uint64_t>(per_row ? leaf_kind::row : leaf_kind::element)});
  }
  static bool same_leaf(const tensor_state& a, const tensor_state& b) {
    return &a == &b || (a.memory == b.memory && a.autograd_metadata == b.autograd_metadata && a.type == b.type &&
                        detail::same_view(a, b));
  }
  // Each number has a slot of its own for each type: which are equal is not the tape's business.
  int push_number(std::uint64_t bits, dtype type, const cell* of = nullptr) {
    const auto key = std::pair(of, std::pair(type, bits));
    int slot = static_cast<int>(numbers.size());
    if (const auto found = of ? number_slots_.find(key) : number_slots_.end(); found != number_slots_.end()) {
      slot = found->second;
    } else {
      numbers.push_back(bits);
      if (of) number_slots_.emplace(key, slot);
    }
    return push({.code = opcode::scalar, .type = type, .slot = static_cast<std::int16_t>(slot)});
  }

  // ---- operands as they were when they were read

  [[noreturn, gnu::cold]] static void changed(const tensor_state& leaf) {
    throw graph_error(
        message("evaluate: a tensor of shape ", leaf.sizes,
                " was changed in place after a call that reads it was written and before that was evaluated: eval() "
                "the call where the old values are meant, or write it after the change"));
  }
  static ref<tensor_state> seen_with(const tensor_state& x, const ref<gradient_record>& autograd_metadata) {
    ref<tensor_state> state = new_state(x.type, x.sizes, x.strides);
    state->data = x.data;
    state->memory = x.memory;
    state->autograd_metadata = autograd_metadata;
    return state;
  }
  static ref<tensor_state> with_metadata(const operand& o) {
    if (o.wanted.has_passed(*o.state->memory)) changed(*o.state);
    return o.state->autograd_metadata == o.autograd_metadata ? o.state : seen_with(*o.state, o.autograd_metadata);
  }
  static ref<tensor_state> without_metadata(const ref<tensor_state>& x) {
    return x->autograd_metadata ? seen_with(*x, {}) : x;
  }

  cell& root_;
  bool rows_, keeps_, has_axes_ = false;
  std::unordered_map<cell*, int> written_[2];  // by whether it is per row
  std::unordered_map<const cell*, bool> holds_;
  std::vector<bool> of_rows_, flows_;
  std::vector<level> levels_;
  std::map<std::pair<const cell*, std::pair<dtype, std::uint64_t>>, int> number_slots_;
};

}  // namespace kiln::dynamic::graph
