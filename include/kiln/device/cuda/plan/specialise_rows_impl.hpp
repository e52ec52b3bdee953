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
  const bool by_warps = p.shape == kernel_shape::warp_per_row;  // each folds its rows in registers
  std::int64_t folds = 0;
  for (int i = 0; i < t.size; ++i) folds += !by_warps && reduces(t, i);
  for (const summed s : p.sums) folds += s == summed::everything || (!by_warps && s == summed::along_row);
  return 32 * folds * p.cluster;
}

KILN_INLINE std::vector<int> passes_that_read(const task& job, const plan& p, const row_facts& facts) {
  std::vector<std::uint32_t> passes(p.leaves.size());
  const std::vector<std::uint32_t> of_slots = passes_of(job.tape, facts, p.reduction_rooted);
  for (std::size_t k = 0; k < of_slots.size() && k < passes.size(); ++k)
    passes[static_cast<std::size_t>(p.same_as[k])] |= of_slots[k];
  std::vector<int> counts;
  for (const std::uint32_t bits : passes) counts.push_back(std::popcount(bits));
  return counts;
}

KILN_INLINE std::int64_t held_bytes(const task& job, const plan& p, row_facts facts) {
  std::size_t bytes = 0;
  const std::vector<int> passes = passes_that_read(job, p, facts);
  for (std::size_t k = 0; k < p.leaves.size(); ++k)
    if (is_row_leaf(p, k) && p.leaves[k].kept != row_place::memory && (job.leaves[k].is_memory() || passes[k] > 1))
      bytes += size_of(job.leaves[k].type);
  for (std::size_t r = 0; r < p.sums.size(); ++r)
    if (p.sums[r] == summed::across_rows) bytes += size_of(compute_type(job.results[r].type));
  find_kept(job.tape, facts, p.reduction_rooted, facts.values.data(), [&](int i) { return is_expensive(job.tape, i); });
  for (int i = 0; i < job.tape.size; ++i)
    if (facts.values[static_cast<std::size_t>(i)].kept >= 0) bytes += size_of(compute_type(job.tape[i].type));
  return static_cast<std::int64_t>(bytes);
}

KILN_INLINE void copy_rows_ahead(const task& job, plan& p, std::size_t shared_bytes) {
  for (std::size_t k = 0; k < p.leaves.size(); ++k) {
    const std::size_t bytes = static_cast<std::size_t>(p.held * p.threads * p.step) * size_of(job.leaves[k].type);
    const bool copied = is_row_leaf(p, k) && p.even && p.leaves[k].how == access::vectors &&
                        p.leaves[k].kept == row_place::registers && p.rank > 1 && job.leaves[k].is_memory() &&
                        static_cast<std::size_t>(p.step) * size_of(job.leaves[k].type) >= 4;
    if (!copied || p.shared_bytes + bytes > shared_bytes) continue;
    p.leaves[k].kept = row_place::ahead;
    p.shared_bytes += bytes;
  }
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
  const std::vector<int> passes = passes_that_read(job, p, facts);
  std::int64_t live = 0, widest = 0;
  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < p.leaves.size(); ++k) {
    if (!is_row_leaf(p, k) || p.leaves[k].kept == row_place::memory || passes[k] < 2) continue;
    kept.push_back(k);
    live += words(size_of(job.leaves[k].type));
    widest = std::max(widest, words(size_of(job.leaves[k].type)));
  }
  if (p.cluster > 1 && kept.empty()) return false;
  const std::int64_t most_words = has_row_sums(p) ? most_held_words_with_sums : most_held_words;
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
    p.recompute = words(computed) > most_words;
    if (!p.recompute) live += std::max<std::int64_t>(0, words(computed) - widest);
  }
  const std::size_t declared = sizeof(std::uint64_t) * static_cast<std::size_t>(meeting_words(job.tape, p));
  const std::size_t most = shared_bytes - std::min(shared_bytes, declared);
  const auto bytes_of = [&](std::size_t k) {
    return static_cast<std::size_t>(steps * threads * p.step) * size_of(job.leaves[k].type);
  };
  std::stable_sort(kept.begin(), kept.end(), [&](std::size_t a, std::size_t b) { return bytes_of(a) < bytes_of(b); });
  while (live > most_words && !kept.empty()) {
    const std::size_t k = kept.back();
    kept.pop_back();
    if (p.shared_bytes + bytes_of(k) > most) return false;
    p.leaves[k].kept = row_place::shared;
    p.shared_bytes += bytes_of(k);
    live -= words(size_of(job.leaves[k].type));
  }
  if (live > most_words) return false;
  // What one pass reads is loaded with the rest where there is room for it.
  for (std::size_t k = 0; k < p.leaves.size(); ++k) {
    if (!is_row_leaf(p, k) || p.leaves[k].kept == row_place::memory || passes[k] > 1) continue;
    const std::int64_t more = words(size_of(job.leaves[k].type));
    if (live + more > most_words)
      p.leaves[k].kept = row_place::memory;
    else
      live += more;
  }
  p.shape = p.cluster > 1 ? kernel_shape::cluster_per_row : kernel_shape::block_per_row;
  p.threads = static_cast<int>(threads);
  p.held = static_cast<int>(steps);
  // Of rows that take fewer registers two blocks run at once, one of which loads while the other computes.
  if (live > 16) copy_rows_ahead(job, p, most);
  return true;
}

KILN_INLINE bool plan_holders(const task& job, plan& p, const row_facts& facts, std::size_t shared_bytes, int cluster) {
  const std::int64_t length = job.domain.back(), bytes = std::max<std::int64_t>(1, held_bytes(job, p, facts));
  const bool sums = has_row_sums(p);
  // Elements of a row that a thread has registers for.
  const auto elements = [&](int words) {
    return std::max(1, std::min(static_cast<int>(4 * words / bytes), most_held) / p.step) * p.step;
  };
  const int capacity = elements(most_held), in_warp = sums ? elements(most_held_with_sums) : capacity;
  // Shares of sums are written once for each block. So that they are few, few blocks run at once, whose threads hold
  // much of a row each, while the next one is on its way.
  const auto set_blocks = [&] {
    p.least_blocks = std::max(1, threads_with_sums / p.threads);
    constexpr std::size_t declared = std::size_t{24} << 10, of_system = std::size_t{1} << 10;
    const std::size_t each = (shared_bytes + of_system) / static_cast<std::size_t>(p.least_blocks);
    if (each > declared + of_system) copy_rows_ahead(job, p, each - declared - of_system);
  };
  if (length <= std::min<std::int64_t>(1024, 32 * in_warp)) {
    p.shape = kernel_shape::warp_per_row;
    p.threads = !sums ? 128 : length <= 32 * capacity ? threads_with_sums : threads_with_most_held;
    // Short rows leave lanes to others: two steps each, where registers have room for them, so that few lanes fold.
    const std::int64_t steps = (length + p.step - 1) / p.step, share = std::min(2, in_warp / p.step);
    p.lanes = std::min(32, power_of_two_at_least((steps + share - 1) / share));
    p.held = static_cast<int>((steps + p.lanes - 1) / p.lanes);
    if (sums) set_blocks();
    return true;
  }
  // Some 64 bytes of each operand: less text to compile, more threads that wait for memory.
  const int share = std::min(capacity, sums || p.step == 8 ? 32 : 16);
  p.threads = std::clamp(power_of_two_at_least((length + share - 1) / share), 128, 1024);
  if (p.threads < 1024) {
    p.shape = kernel_shape::block_per_row;
    p.held = static_cast<int>((length + p.threads * p.step - 1) / (p.threads * p.step));
    if (sums) set_blocks();
    return true;
  }
  for (int blocks = 1; blocks <= cluster; blocks *= 2) {
    plan holding = p;
    holding.cluster = blocks;
    if (!hold_long_rows(job, holding, facts, shared_bytes)) continue;
    p = holding;
    if (sums) p.least_blocks = 1;
    return true;
  }
  return !sums;
}

KILN_INLINE bool find_row_plan(task& job, plan& p, std::size_t shared_bytes, int cluster) {
  order_axes(job);
  collapse(job);
  int row_axes = 0;
  for (int i = 0; i < job.domain.rank(); ++i) row_axes += static_cast<int>(job.reduced_axes >> i & 1);
  if (row_axes == 0) {  // a row of one element
    each_operand(job, [](dims& strides) { strides.push_back(1); });
    job.domain.push_back(1);
    job.reduced_axes |= 1u << (job.domain.rank() - 1);
    row_axes = 1;
  }
  if (row_axes > 1)
    throw value_error(message("cuda: the rows of a domain ", job.domain, " run along ", row_axes,
                              " axes that do not join into one: make the operands contiguous first"));
  p = {.shape = kernel_shape::long_rows, .rank = job.domain.rank(), .row_axes = 1};
  p.reduction_rooted = job.reduction_rooted;
  p.wide = needs_wide(job);
  p.apart = all_apart(job);
  find_same_leaves(job, p);
  p.step = std::min(step_of(job, 16), 8);
  plan_operands(job, p);
  for (std::size_t r = 0; r < job.results.size(); ++r)
    p.sums.push_back(job.results[r].data ? sum_of(job.results[r], job.domain, job.reduction_rooted) : summed::nothing);
  // What every row reads again is in a cache, and takes no registers.
  for (std::size_t k = 0; k < p.leaves.size(); ++k)
    if (is_row_leaf(p, k) && p.rank > 1 && p.leaves[k].axes == 0 && job.leaves[k].is_memory())
      p.leaves[k].kept = row_place::memory;
  const row_facts facts = facts_of(job.tape, p.leaves);
  const std::int64_t length = job.domain.back();
  p.even = length % p.step == 0;
  if (!plan_holders(job, p, facts, shared_bytes, cluster)) return false;
  const int holders = p.shape == kernel_shape::warp_per_row ? p.lanes : p.threads * p.cluster;
  p.filled = p.even && std::int64_t{holders} * p.held * p.step == length;
  return true;
}

}  // namespace detail

KILN_INLINE plan plan_rows(task& job, std::size_t shared_bytes, int cluster) {
  plan p;
  if (!detail::find_row_plan(job, p, shared_bytes, cluster))
    throw value_error(message("cuda: rows of ", job.domain.back(),
                              " elements are too long to be added up in registers: "
                              "sum that result in a kernel of its own"));
  return p;
}

}  // namespace kiln::cuda
