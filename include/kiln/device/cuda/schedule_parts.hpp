// SPDX-License-Identifier: BSL-1.0
// The parts that a task is cut into: tapes that copy or sum one leaf, a tape before its reductions and after them, and
// the tasks of those.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/device/cuda/launch.hpp>
#include <kiln/device/cuda/print.hpp>
#include <kiln/device/cuda/print_reduce.hpp>
#include <kiln/tape/levels.hpp>

namespace kiln::cuda::detail {

inline std::int64_t elements_of(const dims& domain) {
  std::int64_t n = 1;
  for (const std::int64_t size : domain) n *= size;
  return n;
}
inline int count_reductions(const tape_view& t) {
  int n = 0;
  for (int i = 0; i < t.size; ++i) n += reduces(t, i);
  return n;
}
/// Row-major strides over the axes of a domain that are not in `left_out`, 0 along those.
inline dims packed_strides(const dims& domain, std::uint32_t left_out = 0) {
  dims packed = dims::filled(domain.rank(), 0);
  std::int64_t next = 1;
  for (int i = domain.rank() - 1; i >= 0; --i) {
    if (left_out >> i & 1) continue;
    packed[i] = next;
    next *= domain[i];
  }
  return packed;
}
/// Whether a result adds up elements along some axis.
inline bool is_narrow(const task& job, const result_view& y) {
  for (int i = 0; i < job.domain.rank(); ++i)
    if (y.data && y.strides[i] == 0 && job.domain[i] > 1) return true;
  return false;
}

/// Whether a task whose domain has no elements has results all the same: reductions of nothing, one for each row.
/// Throws value_error for a reduction that has no identity.
inline bool reduces_nothing(const task& job) {
  std::int64_t rows = 1;
  for (int i = 0; i < job.domain.rank(); ++i)
    if (!(job.reduced_axes >> i & 1)) rows *= job.domain[i];
  if (!job.row_root || rows == 0) return false;
  for (int i = 0; i < job.tape.size; ++i)
    if (reduces(job.tape, i) && !spelling_of(job.tape[i].code).has_identity) {
      const std::string_view name = spelling_of(job.tape[i].code).name;
      throw value_error(message(name, ": no elements along the reduced axes of a tensor of shape ", job.domain,
                                ", and the ", name, " of nothing is not defined: check for empty tensors first"));
    }
  return true;
}

/// The tape that gives a leaf of this type as it is.
inline std::shared_ptr<const program> copy_of_leaf(dtype type) {
  auto tape = std::make_shared<program>();
  tape->add_result(tape->push({.code = opcode::leaf, .type = type, .slot = 0}));
  return tape;
}
/// The tape that sums a leaf of this type over the row.
inline std::shared_ptr<const program> sum_of_leaf(dtype type) {
  auto tape = std::make_shared<program>();
  const int leaf = tape->push({.code = opcode::leaf, .type = type, .slot = 0});
  tape->add_result(tape->push({.code = op_rules_table.sum, .type = type, .a = static_cast<std::int16_t>(leaf)}));
  return tape;
}
/// After how many reductions each value of a tape can be had.
inline std::vector<std::int16_t> phases_of(const tape_view& t) {
  std::vector<std::int16_t> phases(static_cast<std::size_t>(t.size));
  for (int i = 0; i < t.size; ++i)
    phases[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(phase_of(t[i], phases.data(), op_rules_table));
  return phases;
}

/// A tape in two: what comes before some of its values, which are its results; and after them.
struct cut_tape {
  std::shared_ptr<const program> before, after;
  std::int16_t values = 0;
};
/// What stands behind a cut in the place of a value before it: the same reduction, of a leaf that holds what parts of a
/// row have left of it; or a leaf, one value per row or per element.
enum class cut_value : std::uint8_t { fold, row, element };

/// Cuts a tape at the values for which `is_cut(i)` is true. The leaves in their place come first in `after`; the others
/// keep their order behind those.
template <class IsCut>
cut_tape cut(const tape_view& t, cut_value becomes, IsCut is_cut) {
  cut_tape made;
  program all, rest, before, after;
  for (int i = 0; i < t.size; ++i) {
    all.push(t[i]);
    if (is_cut(i)) ++made.values;
  }
  std::vector<std::int16_t> place(static_cast<std::size_t>(t.size), -1);
  std::int16_t slot = 0;
  for (int i = 0; i < t.size; ++i) {
    instruction now = t[i];
    if (is_cut(i)) {
      all.add_result(i);
      if (becomes == cut_value::fold)
        now.a = static_cast<std::int16_t>(rest.push({.code = opcode::leaf, .type = now.type, .slot = slot++}));
      else
        now = {.code = opcode::leaf,
               .type = now.type,
               .slot = slot++,
               .literal = static_cast<std::uint64_t>(becomes == cut_value::row ? leaf_kind::row : leaf_kind::element)};
    } else {
      auto moved = [&](std::int16_t k) { return k < 0 ? k : place[static_cast<std::size_t>(k)]; };
      now.a = moved(now.a), now.b = moved(now.b), now.c = moved(now.c);
      if (now.code == opcode::leaf) now.slot = static_cast<std::int16_t>(now.slot + made.values);
    }
    place[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(rest.push(now));
  }
  for (int r = 0; r < t.result_count; ++r)
    rest.add_result(t.results[r] < 0 ? -1 : place[static_cast<std::size_t>(t.results[r])]);
  keep_needed(all, before);
  keep_needed(rest, after);
  made.before = std::make_shared<const program>(before);
  made.after = std::make_shared<const program>(after);
  return made;
}
/// At all reductions, which are folded after the cut.
inline std::pair<std::shared_ptr<const program>, std::shared_ptr<const program>> cut_at_reductions(const task& job) {
  cut_tape made = cut(job.tape, cut_value::fold, [&](int i) { return reduces(job.tape, i); });
  return {std::move(made.before), std::move(made.after)};
}
/// After the reductions that need no other: these are leaves after the cut.
inline cut_tape cut_after_first_pass(const tape_view& t) {
  const std::vector<std::int16_t> phases = phases_of(t);
  return cut(t, cut_value::row, [&](int i) { return reduces(t, i) && phases[static_cast<std::size_t>(i)] == 1; });
}
/// At what is drawn, and at what is taken at an address: operands that can be copied after the cut.
inline cut_tape cut_after_virtual(const tape_view& t) {
  return cut(t, cut_value::element, [&](int i) {
    if (t[i].code == opcode::leaf) return is_drawn(kind_of(t[i]));
    for (const std::int16_t k : {t[i].a, t[i].b, t[i].c})
      if (k >= 0 && is_address(t[k])) return true;
    return false;
  });
}
inline bool any_virtual(const task& job) {
  return std::any_of(job.leaves.begin(), job.leaves.end(), [](const leaf_view& x) { return x.used && !x.is_memory(); });
}
/// A task with leaves that are no memory, in two: what is taken or drawn goes to memory that `room` gives.
template <class Room>
std::pair<task, task> cut_virtual(const task& job, const cut_tape& tapes, Room room) {
  task first = task_for(view_of(*tapes.before), job.domain), second = task_for(view_of(*tapes.after), job.domain);
  const dims packed = packed_strides(job.domain);
  for (std::size_t k = 0; k < first.leaves.size(); ++k)
    if (first.leaves[k].used) first.leaves[k] = job.leaves[k];
  const auto moved = static_cast<std::size_t>(tapes.values);
  for (std::size_t r = 0; r < moved; ++r) {
    result_view& y = first.results[r];
    y.data = room(elements_of(job.domain), y.type);
    y.strides = packed;
    if (r < second.leaves.size() && second.leaves[r].used) second.leaves[r] = {y.data, packed, y.type};
  }
  for (std::size_t k = moved; k < second.leaves.size(); ++k)
    if (second.leaves[k].used) second.leaves[k] = job.leaves[k - moved];
  first.numbers = second.numbers = job.numbers;
  second.reduced_axes = job.reduced_axes;
  second.row_root = job.row_root;
  second.results = job.results;
  return {std::move(first), std::move(second)};
}

/// The task of what comes before the reductions of `job`.
inline task parts_task(const task& job, const program& tape) {
  task first = task_for(view_of(tape), job.domain);
  for (std::size_t k = 0; k < first.leaves.size(); ++k)
    if (first.leaves[k].used) first.leaves[k] = job.leaves[k];
  first.numbers = job.numbers;
  first.row_root = true;
  return first;
}
/// The task of what comes after them.
inline task rest_task(const task& job, const program& tape, const dims& domain, std::uint32_t reduced) {
  task second = task_for(view_of(tape), domain);
  const auto reductions = static_cast<std::size_t>(count_reductions(job.tape));
  for (std::size_t k = reductions; k < second.leaves.size(); ++k)
    if (second.leaves[k].used) second.leaves[k].data = job.leaves[k - reductions].data;
  second.numbers = job.numbers;
  second.reduced_axes = reduced;
  second.row_root = true;
  return second;
}

}  // namespace kiln::cuda::detail
