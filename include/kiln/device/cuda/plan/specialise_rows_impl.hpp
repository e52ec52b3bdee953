// SPDX-License-Identifier: BSL-1.0
// The definitions of specialise_rows.hpp.
#pragma once

#include <kiln/device/cuda/plan/specialise_rows.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE row_facts facts_of(const tape_view& t, const std::vector<operand_plan>& leaves) {
  row_facts f;
  f.values.resize(static_cast<std::size_t>(t.size));
  static_cast<tape_facts&>(f) = find_facts(t, op_rules_table, f.values.data(), [&](const instruction& leaf) {
    return leaves[static_cast<std::size_t>(leaf.slot)].how < access::vectors ? level::row : level::element;
  });
  return f;
}

KILN_INLINE summed sum_of(const result_view& y, const dims& domain, bool row_root) {
  if (row_root) return summed::nothing;
  bool fixed = true, moves = true;  // over all rows; for all axes of the rows
  for (int i = 0; i + 1 < domain.rank(); ++i) {
    fixed &= y.strides[i] == 0;
    moves &= y.strides[i] != 0;
  }
  if (domain.rank() == 1) return y.strides[0] == 0 && domain[0] > 1 ? summed::everything : summed::nothing;
  if (y.strides.back() == 0) {
    if (fixed) return summed::everything;
    if (moves) return summed::along_row;
  } else {
    if (moves) return summed::nothing;
    if (fixed) return summed::across_rows;
  }
  throw value_error(message("cuda: a result of strides ", y.strides, " over the domain ", domain,
                            " adds up some axes of the rows and not others: sum it in a kernel of its own"));
}

KILN_INLINE int power_of_two_at_least(std::int64_t n) {
  int p = 1;
  while (p < n) p *= 2;
  return p;
}

}  // namespace detail

}  // namespace kiln::cuda

namespace kiln::cuda {

KILN_INLINE plan plan_rows(task& job) {
  order_axes(job);
  collapse(job);
  int row_axes = 0;
  for (int i = 0; i < job.domain.rank(); ++i) row_axes += static_cast<int>(job.reduced_axes >> i & 1);
  if (row_axes == 0) {  // a row of one element
    detail::each_operand(job, [](dims& strides) { strides.push_back(1); });
    job.domain.push_back(1);
    job.reduced_axes |= 1u << (job.domain.rank() - 1);
    row_axes = 1;
  }
  if (row_axes > 1)
    throw value_error(message("cuda: the rows of a domain ", job.domain, " run along ", row_axes,
                              " axes that do not join into one: make the operands contiguous first"));
  plan p{.shape = kernel_shape::long_rows, .rank = job.domain.rank(), .row_axes = 1};
  p.row_root = job.row_root;
  p.wide = detail::needs_wide(job);
  p.apart = detail::all_apart(job);
  detail::find_same_leaves(job, p);
  p.step = std::min(detail::step_of(job, 16), 8);
  detail::plan_operands(job, p);
  int arrays = 0;
  for (std::size_t r = 0; r < job.results.size(); ++r) {
    p.sums.push_back(job.results[r].data ? detail::sum_of(job.results[r], job.domain, job.row_root) : summed::nothing);
    arrays += p.sums.back() == summed::across_rows;
  }
  for (std::size_t i = 0; i < p.leaves.size(); ++i)
    arrays += p.leaves[i].how >= access::vectors && p.same_as[i] == static_cast<std::int16_t>(i);
  const detail::row_facts facts = detail::facts_of(job.tape, p.leaves);
  if (facts.last_phase > 0) ++arrays;  // a dear value between passes
  const std::int64_t length = job.domain.back();
  p.even = length % p.step == 0;
  const int room =
      std::max(1, most_held / std::max(arrays, 1) / p.step) * p.step;  // elements of an array a thread holds
  if (length <= std::min<std::int64_t>(1024, 32 * room)) {
    p.shape = kernel_shape::warp_per_row;
    p.threads = 128;
    // Short rows leave lanes to others: two steps each, where registers have room for them, so that few lanes fold.
    const std::int64_t steps = (length + p.step - 1) / p.step, share = std::min(2, room / p.step);
    p.lanes = std::min(32, detail::power_of_two_at_least((steps + share - 1) / share));
    p.held = detail::power_of_two_at_least((steps + p.lanes - 1) / p.lanes);
  } else if (length <= 1024 * static_cast<std::int64_t>(room)) {
    p.shape = kernel_shape::block_per_row;
    // Some 16 elements each until the block is full: less text to compile, more threads that wait for memory.
    const int share = std::min(room, 16);
    const std::int64_t wanted = (length + share - 1) / share;
    p.threads = std::clamp(detail::power_of_two_at_least(wanted), 128, 1024);
    p.held = static_cast<int>((length + p.threads * p.step - 1) / (p.threads * p.step));
  } else {
    p.threads = 1024;
    for (const summed s : p.sums)
      if (s == summed::across_rows)
        throw value_error(message("cuda: rows of ", length,
                                  " elements are too long to be added up in registers: "
                                  "sum that result in a kernel of its own"));
  }
  return p;
}

}  // namespace kiln::cuda
