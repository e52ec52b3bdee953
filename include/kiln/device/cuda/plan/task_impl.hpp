// SPDX-License-Identifier: BSL-1.0
// The definitions of task.hpp.
#pragma once

#include <kiln/device/cuda/plan/task.hpp>

namespace kiln::cuda {

KILN_INLINE task task_for(const tape_view& tape, const dims& domain) {
  task job{.tape = tape, .domain = domain};
  for (int i = 0; i < tape.size; ++i) {
    if (tape[i].code != opcode::leaf) continue;
    const std::size_t slot = static_cast<std::size_t>(tape[i].slot);
    if (job.leaves.size() <= slot) job.leaves.resize(slot + 1, {.used = false});
    job.leaves[slot] = {.strides = dims::filled(domain.rank(), 0), .type = tape[i].type, .kind = kind_of(tape[i])};
  }
  for (int r = 0; r < tape.result_count; ++r)
    job.results.push_back({.strides = dims::filled(domain.rank(), 0),
                           .type = tape.results[r] < 0 ? dtype::float32 : tape[tape.results[r]].type});
  return job;
}

KILN_INLINE void take(task& to, const common::task& asked) {
  const common::program_view& program = *asked.program;
  to.tape = program.tape;
  to.domain = asked.domain;
  to.reduced_axes = asked.reduced_axes;
  to.reduction_rooted = program.reduction_rooted;
  to.numbers = asked.scalars;
  to.leaves.assign(static_cast<std::size_t>(program.slots), {.used = false});
  for (int i = 0; i < program.tape.size; ++i) {
    const instruction& now = program.tape[i];
    if (now.code != opcode::leaf) continue;
    const std::size_t slot = static_cast<std::size_t>(now.slot);
    to.leaves[slot] = {asked.in[slot].data, asked.in[slot].strides, now.type, true, kind_of(now)};
  }
  to.results.assign(asked.out, asked.out + program.results);
  for (result_view& y : to.results)
    if (y.data == nullptr) y.strides = dims::filled(asked.domain.rank(), 0);
}

namespace detail {

KILN_INLINE bool reduces(const tape_view& t, int i) {
  const found_rules op = op_facts_table.find(t[i].code);
  return op && op->reduces;
}

KILN_INLINE bool is_expensive(const tape_view& t, int i) {
  const found_rules op = op_facts_table.find(t[i].code);
  return op && op->expensive && !op->reduces;
}

KILN_INLINE std::vector<std::int16_t> phases_of(const tape_view& t) {
  std::vector<std::int16_t> phases(static_cast<std::size_t>(t.size));
  for (int i = 0; i < t.size; ++i)
    phases[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(phase_of(t[i], phases.data(), op_facts_table));
  return phases;
}

KILN_INLINE bool one_pass(const tape_view& t) {
  const std::vector<std::int16_t> phases = phases_of(t);
  return std::all_of(phases.begin(), phases.end(), [](std::int16_t phase) { return phase <= 1; });
}

KILN_INLINE tape_view view_of(const program& p) {
  return {&p[0], p.size(), p.results, p.result_count};
}

KILN_INLINE void erase_axis(task& job, int axis) {
  each_operand(job, [&](dims& strides) { strides.erase(axis); });
  job.domain.erase(axis);
  const std::uint32_t below = (1u << axis) - 1;
  job.reduced_axes = (job.reduced_axes & below) | ((job.reduced_axes >> 1) & ~below);
}

KILN_INLINE void swap_axes(task& job, int i, int j) {
  auto swap = [&](dims& d) { std::swap(d[i], d[j]); };
  each_operand(job, swap);
  swap(job.domain);
  const std::uint32_t a = job.reduced_axes >> i & 1, b = job.reduced_axes >> j & 1;
  job.reduced_axes = (job.reduced_axes & ~(1u << i) & ~(1u << j)) | (a << j) | (b << i);
}

}  // namespace detail

KILN_INLINE void order_axes(task& job) {
  const result_view* const first = detail::first_wanted(job);
  auto before = [&](int i, int j) {  // whether axis j, which stands behind i, has to come first
    const bool a = job.reduced_axes >> i & 1, b = job.reduced_axes >> j & 1;
    if (a != b) return a;
    if (!first || a) return false;
    const std::int64_t s = std::abs(first->strides[i]), t = std::abs(first->strides[j]);
    return s != 0 && t > s;
  };
  for (int i = 1; i < job.domain.rank(); ++i)
    for (int j = i; j > 0 && before(j - 1, j); --j) detail::swap_axes(job, j - 1, j);
}

KILN_INLINE void collapse(task& job) {
  for (int i = job.domain.rank() - 1; i >= 0; --i)
    if (job.domain[i] == 1) detail::erase_axis(job, i);
  for (int i = job.domain.rank() - 2; i >= 0; --i) {
    if ((job.reduced_axes >> i & 1) != (job.reduced_axes >> (i + 1) & 1)) continue;
    const std::int64_t size = job.domain[i + 1];
    bool joined = true;
    detail::each_operand(job, [&](const dims& s) { joined &= s[i] == s[i + 1] * size; });
    if (!joined) continue;
    detail::each_operand(job, [&](dims& s) { s[i] = s[i + 1]; });
    job.domain[i] *= size;
    const std::uint32_t of_row = job.reduced_axes >> i & 1;
    detail::erase_axis(job, i + 1);
    job.reduced_axes = (job.reduced_axes & ~(1u << i)) | (of_row << i);
  }
}

}  // namespace kiln::cuda
