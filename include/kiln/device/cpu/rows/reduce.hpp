// SPDX-License-Identifier: BSL-1.0
// Chooses how a row program runs: rows on threads, long rows cut into strips, or (reductions over a slow axis) strips
// folded onto each other, which reads memory in its order. The entry is `run_rows`.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/rows/row_strips.hpp>
#include <kiln/device/cpu/rows/vertical.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// Rows without elements: every reduction is its identity, if it has one.
[[gnu::cold]] inline void reduce_nothing(task& job, std::int64_t rows) {
  const compiled& program = program_of(job);
  for (int r = 0; r < program.reductions; ++r)
    if (!program.reduced[r].has_identity)
      throw value_error(message(program.reduced[r].name, ": no elements along the reduced axes of a tensor of shape ",
                                job.domain, ", and the ", program.reduced[r].name,
                                " of nothing is not defined: check for empty tensors first"));
  std::array<std::uint64_t, max_slots> identities;
  for (int r = 0; r < program.reductions; ++r)
    identities[static_cast<std::size_t>(r)] = program.reduced[r].identity;
  rows_last(job);
  const int outer = job.domain.rank() - row_axes(job);
  for (std::int64_t row = 0; row < rows; ++row) row_runner::finish_row(job, outer, identities.data(), row);
}

/// Whether rows are cut into strips: long ones, and those in pieces that are not worth copying together.
inline bool in_strips(const task& job, std::int64_t length) {
  constexpr std::int64_t long_pieces = 8192, longest_turned = 65536;
  bool lies = row_axes(job) == 1, turned = false;
  for (int k = 0; k < job.program->slots; ++k) {
    if (!job.in[k].data || program_of(job).draws_of(k)) continue;
    const dims& s = job.in[k].strides;
    lies &= s.back() == 1 || s.back() == 0;
    turned |= turned_in_rows(job, k);
  }
  if (lies) return length * program_of(job).cost >= 2 * work_per_thread;
  return length > (turned ? longest_turned : long_pieces);
}

/// Brings the axes of a row program into the order in which they are walked; how long a row is.
inline std::int64_t order_row_axes(task& job) {
  rows_last(job);
  drop_single_axes(job);
  order_by_largest(job);
  collapse(job);
  if (row_axes(job) == 0) {
    insert_axis(job);
    job.reduced_axes |= 1u << (job.domain.rank() - 1);
  }
  std::int64_t length = 1;
  for (int i = job.domain.rank() - row_axes(job); i < job.domain.rank(); ++i) length *= job.domain[i];
  return length;
}

/// Runs a row program of which no result is a sum over rows.
inline void run_rows_by(task& job, strip_writer writer) {
  const compiled& program = program_of(job);
  const std::int64_t total = count(job.domain);
  if (total == 0) {
    if (!program.reduction_rooted) return;
    dims kept;  // a value per row: so many of them there can be
    for (int i = 0; i < job.domain.rank(); ++i)
      if (!(job.reduced_axes >> i & 1)) kept.push_back(job.domain[i]);
    if (const std::int64_t rows = count(kept); rows > 0) reduce_nothing(job, rows);
    return;
  }
  const std::int64_t length = order_row_axes(job), rows = total / length;
  if (vertical_runner::suits(job)) return run_vertical(job);
  if (in_strips(job, length)) return run_row_strips(job, writer, rows);
  parallel_for(
      rows, std::max<std::int64_t>(work_per_thread / (length * program.cost), 1),
      [&](std::int64_t begin, std::int64_t end) { row_runner(job, writer, nullptr, length).rows(begin, end); });
}

}  // namespace detail

/// Runs a row program of values: results of the type that it stores, of which none is a sum over rows or is added.
/// Throws value_error if a reduction without an identity (max, min) has nothing to reduce.
inline void run_plain_rows(task& job) {
  detail::run_rows_by(job, &detail::put_values);
}

/// Runs any row program.
inline void run_rows(task& job) {
  result_sums sums(job);
  if (!sums.any()) return detail::run_rows_by(job, &put_strip);
  if (count(job.domain) == 0) return sums.deliver();
  const std::int64_t length = detail::order_row_axes(job);
  sum_parts(sums, {.domain = job.domain, .split = job.domain.rank() - detail::row_axes(job), .step = length},
            [&](part_sums& part) {
              detail::row_runner(job, &put_strip, &part, length).rows(part.where().outer, part.where().outer_end);
            });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
