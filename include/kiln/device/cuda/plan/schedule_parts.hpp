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
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/launch.hpp>

namespace kiln::cuda::detail {

std::int64_t elements_of(const dims& domain);
int count_reductions(const tape_view& t);
/// Row-major strides over the axes of a domain that are not in `left_out`, 0 along those.
dims packed_strides(const dims& domain, std::uint32_t left_out = 0);
/// Whether a result adds up elements along some axis.
bool is_narrow(const task& job, const result_view& y);

/// Whether a task whose domain has no elements has results all the same: reductions of nothing, one for each row.
/// Throws value_error for a reduction that has no identity.
bool reduces_nothing(const task& job);

/// The tape that gives a leaf of this type as it is.
std::shared_ptr<const program> copy_of_leaf(dtype type);
/// The tape that sums a leaf of this type over the row.
std::shared_ptr<const program> sum_of_leaf(dtype type);

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
std::pair<std::shared_ptr<const program>, std::shared_ptr<const program>> cut_at_reductions(const task& job);
/// After the reductions that need no other: these are leaves after the cut.
cut_tape cut_after_first_pass(const tape_view& t);
/// At what is drawn, and at what is taken at an address: operands that can be copied after the cut.
cut_tape cut_after_virtual(const tape_view& t);
bool any_virtual(const task& job);
/// A task with leaves that are no memory, in two: what is taken or drawn goes to memory that `workspace` gives.
template <class Room>
std::pair<task, task> cut_virtual(const task& job, const cut_tape& tapes, Room workspace) {
  task first = task_for(view_of(*tapes.before), job.domain), second = task_for(view_of(*tapes.after), job.domain);
  const dims packed = packed_strides(job.domain);
  for (std::size_t k = 0; k < first.leaves.size(); ++k)
    if (first.leaves[k].used) first.leaves[k] = job.leaves[k];
  const auto moved = static_cast<std::size_t>(tapes.values);
  for (std::size_t r = 0; r < moved; ++r) {
    result_view& y = first.results[r];
    y.data = workspace(elements_of(job.domain), y.type);
    y.strides = packed;
    if (r < second.leaves.size() && second.leaves[r].used) second.leaves[r] = {y.data, packed, y.type};
  }
  for (std::size_t k = moved; k < second.leaves.size(); ++k)
    if (second.leaves[k].used) second.leaves[k] = job.leaves[k - moved];
  first.numbers = second.numbers = job.numbers;
  second.reduced_axes = job.reduced_axes;
  second.reduction_rooted = job.reduction_rooted;
  second.results = job.results;
  return {std::move(first), std::move(second)};
}

/// Joins results of a task that go to one place, as gradients of a tensor that occurs twice do: what a later one would
/// add there is added to the value of the first one, in registers, and the later one is no longer wanted. Returns the
/// new tape of `job`, which must live as long; null if there is nothing to join.
std::shared_ptr<const program> join_results(task& job);

/// The task of what comes before the reductions of `job`.
task parts_task(const task& job, const program& tape);
/// The task of what comes after them.
task rest_task(const task& job, const program& tape, const dims& domain, std::uint32_t reduced);

}  // namespace kiln::cuda::detail

#ifndef KILN_COMPILED
#include <kiln/device/cuda/plan/schedule_parts_impl.hpp>
#endif
