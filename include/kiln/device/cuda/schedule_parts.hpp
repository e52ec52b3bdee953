// SPDX-License-Identifier: BSL-1.0
// The parts that a task is cut into: tapes that copy or sum one leaf, a tape before its reductions and after them, and
// the tasks of those.
#pragma once

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

/// The tape before its first reductions, which are its results, and the tape where these are leaves of one value per
/// row. The other leaves keep their order behind those.
struct first_pass {
  std::shared_ptr<const program> before = std::make_shared<program>(), after = std::make_shared<program>();
  std::int16_t reductions = 0;
};
inline first_pass cut_after_first_pass(const tape_view& t) {
  const std::vector<std::int16_t> phases = phases_of(t);
  const auto is_first = [&](int i) { return reduces(t, i) && phases[static_cast<std::size_t>(i)] == 1; };
  first_pass cut;
  program all, rest, before, after;
  for (int i = 0; i < t.size; ++i) {
    all.push(t[i]);
    if (is_first(i)) ++cut.reductions;
  }
  std::vector<std::int16_t> place(static_cast<std::size_t>(t.size), -1);
  std::int16_t slot = 0;
  for (int i = 0; i < t.size; ++i) {
    instruction now = t[i];
    if (is_first(i)) {
      all.add_result(i);
      now = {.code = opcode::leaf, .type = now.type, .slot = slot++, .literal = 1};
    } else {
      auto moved = [&](std::int16_t k) { return k < 0 ? k : place[static_cast<std::size_t>(k)]; };
      now.a = moved(now.a), now.b = moved(now.b), now.c = moved(now.c);
      if (now.code == opcode::leaf) now.slot = static_cast<std::int16_t>(now.slot + cut.reductions);
    }
    place[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(rest.push(now));
  }
  for (int r = 0; r < t.result_count; ++r)
    rest.add_result(t.results[r] < 0 ? -1 : place[static_cast<std::size_t>(t.results[r])]);
  keep_needed(all, before);
  keep_needed(rest, after);
  cut.before = std::make_shared<const program>(before);
  cut.after = std::make_shared<const program>(after);
  return cut;
}

/// The tape before its reductions, which are its results; and after them, where each is taken of a leaf. The other
/// leaves keep their order behind those.
inline std::pair<std::shared_ptr<const program>, std::shared_ptr<const program>> cut_at_reductions(const task& job) {
  auto before = std::make_shared<program>(), after = std::make_shared<program>();
  program all;
  for (int i = 0; i < job.tape.size; ++i) all.push(job.tape[i]);
  std::vector<std::int16_t> place(static_cast<std::size_t>(job.tape.size), -1);
  program second;
  std::int16_t slot = 0;
  const auto reductions = static_cast<std::int16_t>(count_reductions(job.tape));
  for (int i = 0; i < job.tape.size; ++i) {
    instruction now = job.tape[i];
    if (reduces(job.tape, i)) {
      all.add_result(i);
      now.a = static_cast<std::int16_t>(second.push({.code = opcode::leaf, .type = now.type, .slot = slot++}));
    } else {
      auto moved = [&](std::int16_t k) { return k < 0 ? k : place[static_cast<std::size_t>(k)]; };
      now.a = moved(now.a), now.b = moved(now.b), now.c = moved(now.c);
      if (now.code == opcode::leaf) now.slot = static_cast<std::int16_t>(now.slot + reductions);
    }
    place[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(second.push(now));
  }
  for (int r = 0; r < job.tape.result_count; ++r)
    second.add_result(job.tape.results[r] < 0 ? -1 : place[static_cast<std::size_t>(job.tape.results[r])]);
  keep_needed(all, *before);
  keep_needed(second, *after);
  return {before, after};
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
