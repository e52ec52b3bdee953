// SPDX-License-Identifier: BSL-1.0
// Runs a map program (no reductions) over any domain: in one flat piece where all operands lie alike, else in strips or
// tiles. Results that are narrower than the domain (gradients of broadcast leaves) are summed as they come.
#pragma once

#include <algorithm>
#include <cstdint>

#include <kiln/device/cpu/maps/strip_runner.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// Everything in one piece: no strides to follow, no staging.
inline bool is_flat(const task& job) {
  if (job.domain.rank() > 1 || program_of(job).draw_count) return false;
  for (int k = 0; k < job.program->slots; ++k)
    if (job.in[k].data && job.in[k].strides[0] != 1 && job.in[k].strides[0] != 0) return false;
  for (int r = 0; r < job.program->results; ++r)
    if (job.out[r].data && (job.out[r].type != job.program->stores[r] || job.out[r].strides[0] != 1)) return false;
  return true;
}

/// Makes the domain one axis if every operand is contiguous or one value and every result is contiguous: what most
/// tasks are, found without sorting and merging axes. False, and nothing changed, if not.
inline bool flatten(task& job) {
  auto one_value = [&](const dims& strides) {
    for (int i = 0; i < strides.rank(); ++i)
      if (strides[i] != 0 && job.domain[i] != 1) return false;
    return true;
  };
  std::uint64_t one_each = 0;  // bit k: operand k is contiguous
  static_assert(max_slots <= 64);
  for (int k = 0; k < job.program->slots; ++k) {
    if (!job.in[k].data) continue;
    if (is_contiguous(job.domain, job.in[k].strides))
      one_each |= std::uint64_t{1} << k;
    else if (!one_value(job.in[k].strides))
      return false;
  }
  for (int r = 0; r < job.program->results; ++r)
    if (job.out[r].data && !is_contiguous(job.domain, job.out[r].strides)) return false;
  for (int k = 0; k < job.program->slots; ++k)
    if (job.in[k].data) job.in[k].strides = {static_cast<std::int64_t>(one_each >> k & 1)};
  for (int r = 0; r < job.program->results; ++r)
    if (job.out[r].data) job.out[r].strides = {1};
  job.domain = {count(job.domain)};
  return true;
}

inline void run_flat(const task& job, std::int64_t begin, std::int64_t end, bool non_temporal) {
  const compiled& program = program_of(job);
  strip_pointers p;
  for (int k = 0; k < program.slots; ++k) {
    const operand_view& x = job.in[k];
    const std::int64_t stride = x.data ? x.strides[0] : 0;
    p.in[static_cast<std::size_t>(k)] = stride ? at(x.data, begin, x.size) : x.data;
    p.step[static_cast<std::size_t>(k)] = stride;
  }
  for (int r = 0; r < program.results; ++r) {
    p.out[static_cast<std::size_t>(r)] = job.out[r].data ? at(job.out[r].data, begin, job.out[r].size()) : nullptr;
    p.add[static_cast<std::size_t>(r)] = job.out[r].add;
  }
  run_strip(job, p, end - begin, non_temporal);
  if (non_temporal) stream_fence();
}

/// Brings the axes of a map into the order in which they are walked.
inline void order_axes(task& job) {
  if (flatten(job)) return;
  if (job.domain.rank() > 1) order_by_result(job);
  collapse(job);
  if (job.domain.rank() == 0) insert_axis(job);
}

/// Runs a map program of which no result is a sum.
inline void run_map_by(task& job, strip_writer writer) {
  const compiled& program = program_of(job);
  const std::int64_t total = count(job.domain);
  if (total == 0) return;
  order_axes(job);
  // Threads' shares begin at whole registers and lines: an element has the same neighbours for any number of threads.
  const std::int64_t grain = std::max<std::int64_t>(work_per_thread / program.cost / 64 * 64, 64);
  if (is_flat(job)) {
    if (total <= grain) return run_flat(job, 0, total, false);
    const bool non_temporal = program.results == 1 && exceeds_cache(job, 0);
    const std::int64_t head = non_temporal ? std::min(elements_to_line(job.out[0].data, job.out[0].size()), total) : 0;
    if (head > 0) run_flat(job, 0, head, false);
    return parallel_for(total - head, grain, [&](std::int64_t begin, std::int64_t end) {
      run_flat(job, head + begin, head + end, non_temporal);
    });
  }
  const strip_plan plan = plan_strips(job, false);
  const std::int64_t units = plan.units(job.domain), per_unit = std::max<std::int64_t>(total / units, 1);
  parallel_for(units, std::max<std::int64_t>(grain / per_unit, 1), [&](std::int64_t begin, std::int64_t end) {
    strip_runner(job, plan, writer, nullptr).units(begin, end);
  });
}

}  // namespace detail

/// Runs a map program of values: results of the type that it stores, of which none is a sum or is added.
inline void run_plain_map(task& job) {
  detail::run_map_by(job, &detail::put_values);
}

/// Runs a map program. Results broadcast over an axis of the domain (stride 0 there) receive the sum along it; they
/// must be of a floating type.
inline void run_map(task& job) {
  result_sums sums(job);
  if (!sums.any()) return detail::run_map_by(job, &put_strip);
  if (count(job.domain) == 0) return sums.deliver();
  detail::order_axes(job);
  const detail::strip_plan plan = detail::plan_strips(job, true);
  sum_parts(sums, plan.grid(job.domain),
            [&](part_sums& part) { detail::strip_runner(job, plan, &put_strip, &part).part(part.where()); });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
