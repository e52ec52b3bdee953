// SPDX-License-Identifier: BSL-1.0
// The definitions of specialise_rows.hpp.
#pragma once

#include <kiln/device/cuda/plan/specialise_rows.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE row_facts facts_of(const tape_view& t, const std::vector<operand_plan>& leaves) {
  row_facts f;
  f.values.resize(static_cast<std::size_t>(t.size));
  static_cast<tape_facts&>(f) = find_facts(t, op_facts_table, f.values.data(), [&](const instruction& leaf) {
    return leaves[static_cast<std::size_t>(leaf.slot)].how < access::vectors ? level::row : level::element;
  });
  return f;
}

KILN_INLINE summed sum_of(const result_view& y, const dims& domain, bool reduction_rooted) {
  if (reduction_rooted) return summed::nothing;
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

KILN_INLINE std::vector<std::uint32_t> passes_of(const tape_view& t, const row_facts& facts, bool reduction_rooted) {
  std::vector<std::uint32_t> of_slots;
  std::vector<role> roles(static_cast<std::size_t>(t.size));
  for (int pass = 0; pass < facts.row_passes(reduction_rooted); ++pass) {
    find_roles(t, facts, facts.values.data(), kernel_kind::pass, pass, reduction_rooted, roles.data(), false);
    for (int i = 0; i < t.size; ++i) {
      if (t[i].code != opcode::leaf || roles[static_cast<std::size_t>(i)] != role::each) continue;
      of_slots.resize(std::max(of_slots.size(), static_cast<std::size_t>(t[i].slot) + 1));
      of_slots[static_cast<std::size_t>(t[i].slot)] |= 1u << pass;
    }
  }
  return of_slots;
}

KILN_INLINE std::int64_t meeting_words(const tape_view& t, const plan& p) {
  if (p.shape == kernel_shape::warp_per_row) return 0;  // a warp folds in registers
  std::int64_t folds = 0;
  for (int i = 0; i < t.size; ++i) folds += reduces(t, i);
  for (const summed s : p.sums) folds += s == summed::along_row || s == summed::everything;
  return 32 * folds * p.cluster;
}

KILN_INLINE bool hold_long_rows(const task& job, plan& p, const row_facts& facts, std::size_t shared_bytes) {
  constexpr std::int64_t threads = 1024;
  const std::int64_t all = threads * p.cluster * p.step, steps = (job.domain.back() + all - 1) / all,
                     share = steps * p.step;
  if (share > most_held) return false;
  // Of half types the compiler unpacks some before they are used.
  const auto words = [&](std::size_t size) {
    return (share * std::max<std::int64_t>(3, static_cast<std::int64_t>(size)) + 3) / 4;
  };
  std::vector<std::uint32_t> passes(p.leaves.size());
  const std::vector<std::uint32_t> of_slots = passes_of(job.tape, facts, p.reduction_rooted);
  for (std::size_t k = 0; k < of_slots.size() && k < passes.size(); ++k)
    passes[static_cast<std::size_t>(p.same_as[k])] |= of_slots[k];
  std::int64_t live = 0, widest = 0;
  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < p.leaves.size(); ++k) {
    if (p.leaves[k].how < access::vectors || p.same_as[k] != static_cast<std::int16_t>(k)) continue;
    if (std::popcount(passes[k]) < 2) continue;
    kept.push_back(k);
    live += words(size_of(job.leaves[k].type));
    widest = std::max(widest, words(size_of(job.leaves[k].type)));
  }
  if (p.cluster > 1 && kept.empty()) return false;
  std::size_t computed = 4;
  bool expensive = false;
  for (int i = 0; i < job.tape.size; ++i) {
    computed = std::max(computed, job.tape[i].type == dtype::float64 ? std::size_t{8} : std::size_t{4});
    expensive |= is_expensive(job.tape, i) && facts.values[static_cast<std::size_t>(i)].at == level::element;
  }
  for (std::size_t r = 0; r < p.sums.size(); ++r)
    if (p.sums[r] == summed::across_rows) live += words(size_of(compute_type(job.results[r].type)));
  // Values that a pass leaves take the place of a leaf that is not read again, and are made anew where that is too
  // small.
  if (expensive && facts.last_phase > 0) {
    p.recompute = words(computed) > most_held_words;
    if (!p.recompute) live += std::max<std::int64_t>(0, words(computed) - widest);
  }
  const std::size_t declared = sizeof(std::uint64_t) * static_cast<std::size_t>(meeting_words(job.tape, p));
  const std::size_t most = shared_bytes - std::min(shared_bytes, declared);
  const auto bytes_of = [&](std::size_t k) {
    return static_cast<std::size_t>(steps * threads * p.step) * size_of(job.leaves[k].type);
  };
  std::stable_sort(kept.begin(), kept.end(), [&](std::size_t a, std::size_t b) { return bytes_of(a) < bytes_of(b); });
  while (live > most_held_words && !kept.empty()) {
    const std::size_t k = kept.back();
    kept.pop_back();
    if (p.shared_bytes + bytes_of(k) > most) return false;
    p.leaves[k].kept = row_place::shared;
    p.shared_bytes += bytes_of(k);
    live -= words(size_of(job.leaves[k].type));
  }
  if (live > most_held_words) return false;
  p.shape = p.cluster > 1 ? kernel_shape::cluster_per_row : kernel_shape::block_per_row;
  p.threads = static_cast<int>(threads);
  p.held = static_cast<int>(steps);
  // Of rows that take fewer registers two blocks run at once, one of which loads while the other computes.
  for (const std::size_t k : kept) {
    const bool copied = live > 16 && p.even && p.leaves[k].how == access::vectors && p.leaves[k].axes != 0 &&
                        (passes[k] & 1) && job.leaves[k].is_memory() &&
                        static_cast<std::size_t>(p.step) * size_of(job.leaves[k].type) >= 4;
    if (!copied || p.shared_bytes + bytes_of(k) > most) continue;
    p.leaves[k].kept = row_place::ahead;
    p.shared_bytes += bytes_of(k);
  }
  return true;
}

}  // namespace detail

KILN_INLINE plan plan_rows(task& job, std::size_t shared_bytes, int cluster) {
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
  p.reduction_rooted = job.reduction_rooted;
  p.wide = detail::needs_wide(job);
  p.apart = detail::all_apart(job);
  detail::find_same_leaves(job, p);
  p.step = std::min(detail::step_of(job, 16), 8);
  detail::plan_operands(job, p);
  int arrays = 0;
  for (std::size_t r = 0; r < job.results.size(); ++r) {
    p.sums.push_back(job.results[r].data ? detail::sum_of(job.results[r], job.domain, job.reduction_rooted)
                                         : summed::nothing);
    arrays += p.sums.back() == summed::across_rows;
  }
  for (std::size_t i = 0; i < p.leaves.size(); ++i)
    arrays += p.leaves[i].how >= access::vectors && p.same_as[i] == static_cast<std::int16_t>(i);
  const detail::row_facts facts = detail::facts_of(job.tape, p.leaves);
  if (facts.last_phase > 0) ++arrays;  // an expensive value between passes
  const std::int64_t length = job.domain.back();
  p.even = length % p.step == 0;
  const int capacity =
      std::max(1, most_held / std::max(arrays, 1) / p.step) * p.step;  // elements of an array a thread holds
  if (length <= std::min<std::int64_t>(1024, 32 * capacity)) {
    p.shape = kernel_shape::warp_per_row;
    p.threads = 128;
    // Short rows leave lanes to others: two steps each, where registers have room for them, so that few lanes fold.
    const std::int64_t steps = (length + p.step - 1) / p.step, share = std::min(2, capacity / p.step);
    p.lanes = std::min(32, detail::power_of_two_at_least((steps + share - 1) / share));
    p.held = detail::power_of_two_at_least((steps + p.lanes - 1) / p.lanes);
    return p;
  }
  // Some 16 elements each until the block is full: less text to compile, more threads that wait for memory.
  const int share = std::min(capacity, 16);
  p.threads = std::clamp(detail::power_of_two_at_least((length + share - 1) / share), 128, 1024);
  if (p.threads < 1024) {
    p.shape = kernel_shape::block_per_row;
    p.held = static_cast<int>((length + p.threads * p.step - 1) / (p.threads * p.step));
    return p;
  }
  for (int blocks = 1; blocks <= cluster; blocks *= 2) {
    plan holding = p;
    holding.cluster = blocks;
    if (detail::hold_long_rows(job, holding, facts, shared_bytes)) return holding;
  }
  for (const summed s : p.sums)
    if (s == summed::across_rows)
      throw value_error(message("cuda: rows of ", length,
                                " elements are too long to be added up in registers: "
                                "sum that result in a kernel of its own"));
  return p;
}

}  // namespace kiln::cuda
