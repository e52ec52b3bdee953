// SPDX-License-Identifier: BSL-1.0
// The definitions of schedule_parts.hpp.
#pragma once

#include <kiln/device/cuda/plan/schedule_parts.hpp>

namespace kiln::cuda::detail {

KILN_INLINE std::int64_t elements_of(const dims& domain) {
  std::int64_t n = 1;
  for (const std::int64_t size : domain) n *= size;
  return n;
}

KILN_INLINE int count_reductions(const tape_view& t) {
  int n = 0;
  for (int i = 0; i < t.size; ++i) n += reduces(t, i);
  return n;
}

KILN_INLINE dims packed_strides(const dims& domain, std::uint32_t left_out) {
  dims packed = dims::filled(domain.rank(), 0);
  std::int64_t next = 1;
  for (int i = domain.rank() - 1; i >= 0; --i) {
    if (left_out >> i & 1) continue;
    packed[i] = next;
    next *= domain[i];
  }
  return packed;
}

KILN_INLINE bool is_narrow(const task& job, const result_view& y) {
  for (int i = 0; i < job.domain.rank(); ++i)
    if (y.data && y.strides[i] == 0 && job.domain[i] > 1) return true;
  return false;
}

KILN_INLINE bool reduces_nothing(const task& job) {
  std::int64_t rows = 1;
  for (int i = 0; i < job.domain.rank(); ++i)
    if (!(job.reduced_axes >> i & 1)) rows *= job.domain[i];
  if (!job.reduction_rooted || rows == 0) return false;
  for (int i = 0; i < job.tape.size; ++i)
    if (reduces(job.tape, i) && job.tape[i].slot != folds_nothing &&
        !op_facts_table.find(job.tape[i].code)->has_identity) {
      const std::string_view name = op_facts_table.find(job.tape[i].code)->name;
      throw value_error(message(name, ": no elements along the reduced axes of a tensor of shape ", job.domain,
                                ", and the ", name, " of nothing is not defined: check for empty tensors first"));
    }
  return true;
}

KILN_INLINE std::shared_ptr<const program> copy_of_leaf(dtype type) {
  auto tape = std::make_shared<program>();
  tape->add_result(tape->push({.code = opcode::leaf, .type = type, .slot = 0}));
  return tape;
}

KILN_INLINE std::shared_ptr<const program> sum_of_leaf(dtype type) {
  auto tape = std::make_shared<program>();
  const int leaf = tape->push({.code = opcode::leaf, .type = type, .slot = 0});
  tape->add_result(tape->push({.code = op_facts_table.sum, .type = type, .a = static_cast<std::int16_t>(leaf)}));
  return tape;
}

KILN_INLINE std::pair<std::shared_ptr<const program>, std::shared_ptr<const program>> cut_at_reductions(
    const task& job) {
  cut_tape made = cut(job.tape, cut_value::fold, [&](int i) { return reduces(job.tape, i); });
  return {std::move(made.before), std::move(made.after)};
}

KILN_INLINE cut_tape cut_after_first_pass(const tape_view& t) {
  const std::vector<std::int16_t> phases = phases_of(t);
  return cut(t, cut_value::row, [&](int i) { return reduces(t, i) && phases[static_cast<std::size_t>(i)] == 1; });
}

KILN_INLINE cut_tape cut_after_virtual(const tape_view& t) {
  return cut(t, cut_value::element, [&](int i) {
    if (t[i].code == opcode::leaf) return is_drawn(kind_of(t[i]));
    for (const std::int16_t k : {t[i].a, t[i].b, t[i].c})
      if (k >= 0 && is_address(t[k])) return true;
    return false;
  });
}

KILN_INLINE bool any_virtual(const task& job) {
  return std::any_of(job.leaves.begin(), job.leaves.end(), [](const leaf_view& x) { return x.used && !x.is_memory(); });
}

KILN_INLINE std::shared_ptr<const program> join_results(task& job) {
  const auto wanted = [&](int r) { return job.tape.results[r] >= 0 && job.results[static_cast<std::size_t>(r)].data; };
  std::vector<std::pair<int, int>> pairs;  // of results, the first one and one that is added to it
  for (int later = 1; later < job.tape.result_count && !job.reduction_rooted; ++later) {
    const result_view& y = job.results[static_cast<std::size_t>(later)];
    for (int first = 0; first < later && wanted(later) && y.add; ++first) {
      const result_view& x = job.results[static_cast<std::size_t>(first)];
      if (!wanted(first) || x.data != y.data || x.type != y.type || !(x.strides == y.strides)) continue;
      pairs.emplace_back(first, later);
      break;
    }
  }
  if (pairs.empty()) return nullptr;
  program all;
  std::vector<std::int16_t> place(static_cast<std::size_t>(job.tape.size)), results;
  const auto moved = [&](std::int16_t i) { return i < 0 ? i : place[static_cast<std::size_t>(i)]; };
  for (int i = 0; i < job.tape.size; ++i) {
    instruction now = job.tape[i];
    now.a = moved(now.a), now.b = moved(now.b), now.c = moved(now.c);
    place[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(all.push(now));
  }
  for (int r = 0; r < job.tape.result_count; ++r) results.push_back(moved(job.tape.results[r]));
  for (const auto& [first, later] : pairs) {
    std::int16_t &sum = results[static_cast<std::size_t>(first)], &more = results[static_cast<std::size_t>(later)];
    sum = static_cast<std::int16_t>(
        all.push({.code = op_facts_table.add, .type = compute_type(all[more].type), .a = sum, .b = more}));
    more = -1;
    job.results[static_cast<std::size_t>(later)] = {.strides = dims::filled(job.domain.rank(), 0),
                                                    .type = dtype::float32};
  }
  for (const std::int16_t r : results) all.add_result(r);
  const auto joined = std::make_shared<program>();
  keep_needed(all, *joined);
  job.tape = view_of(*joined);
  return joined;
}

KILN_INLINE task parts_task(const task& job, const program& tape) {
  task first = task_for(view_of(tape), job.domain);
  for (std::size_t k = 0; k < first.leaves.size(); ++k)
    if (first.leaves[k].used) first.leaves[k] = job.leaves[k];
  first.numbers = job.numbers;
  first.reduction_rooted = true;
  return first;
}

KILN_INLINE task rest_task(const task& job, const program& tape, const dims& domain, std::uint32_t reduced) {
  task second = task_for(view_of(tape), domain);
  const auto reductions = static_cast<std::size_t>(count_reductions(job.tape));
  for (std::size_t k = reductions; k < second.leaves.size(); ++k)
    if (second.leaves[k].used) second.leaves[k].data = job.leaves[k - reductions].data;
  second.numbers = job.numbers;
  second.reduced_axes = reduced;
  second.reduction_rooted = true;
  return second;
}

}  // namespace kiln::cuda::detail
