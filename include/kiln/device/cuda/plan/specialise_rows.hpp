// SPDX-License-Identifier: BSL-1.0
// The plan of row programs: who holds a row (a warp, a block, a cluster of blocks, or nobody: then it is walked through
// once per pass), how many steps of it each thread keeps in registers, and which results are sums.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/specialise.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tape/roles.hpp>

namespace kiln::cuda {

namespace detail {

/// The facts of a tape, each value's in `values`. A leaf that does not move along the row counts as one value per row.
struct row_facts : tape_facts {
  std::vector<value_facts> values;
  /// Passes over a row; a map with sums is one.
  int row_passes(bool reduction_rooted) const { return last_phase + (reduction_rooted ? 0 : 1); }
};
row_facts facts_of(const tape_view& t, const std::vector<operand_plan>& leaves);

/// What result y of a row program adds up over a collapsed domain.
summed sum_of(const result_view& y, const dims& domain, bool reduction_rooted);

int power_of_two_at_least(std::int64_t n);

/// The passes over a row that read each leaf slot, as bits, where none leaves values to a later one.
std::vector<std::uint32_t> passes_of(const tape_view& t, const row_facts& facts, bool reduction_rooted);

/// Words of 64 bits that the text of a row program declares in shared memory: the planner leaves them free, the printer
/// declares them. Each fold over a block or cluster takes one for each warp. Folds are the reductions of `t`, and the
/// results of `p` that add up a row or everything.
std::int64_t meeting_words(const tape_view& t, const plan& p);

/// Whether a leaf has an element for each of the row, and is not the same as an earlier one.
inline bool is_row_leaf(const plan& p, std::size_t slot) {
  return p.leaves[slot].how >= access::vectors && p.same_as[slot] == static_cast<std::int16_t>(slot);
}
/// Whether a result is a sum over the rows, for each place of a row.
inline bool has_row_sums(const plan& p) {
  return std::count(p.sums.begin(), p.sums.end(), summed::across_rows) > 0;
}
/// How many passes over a row read each leaf slot, where none leaves values to a later one. Slots that are the same as
/// an earlier one count as that.
std::vector<int> passes_that_read(const task& job, const plan& p, const row_facts& facts);

/// Bytes that a thread keeps of each element of its part of a row: of leaves, of sums over the rows, of expensive
/// values between passes.
std::int64_t held_bytes(const task& job, const plan& p, row_facts facts);

/// Lets the next row of as many leaves as shared memory has room for be copied there while one is worked on.
void copy_rows_ahead(const task& job, plan& p, std::size_t shared_bytes);

/// Plans rows that take 1024 threads, or a cluster of such blocks: in registers, what these have no room for in shared
/// memory, and the next row ahead if there is any left. False if a row cannot be held so, or would not be read again.
bool hold_long_rows(const task& job, plan& p, const row_facts& facts, std::size_t shared_bytes);

/// Plans who holds a row. Leaves `p` as it is where nobody can; false if the rows must be held, since they are added
/// up.
bool plan_holders(const task& job, plan& p, const row_facts& facts, std::size_t shared_bytes, int cluster);

/// plan_rows, but false for rows that are too long to be added up in registers.
bool find_row_plan(task& job, plan& p, std::size_t shared_bytes, int cluster);

}  // namespace detail

/// Words of 4 bytes, and elements, that a thread may keep in registers for all arrays of a row program together.
inline constexpr int most_held = 64;
/// Words of one with sums over the rows, where a warp holds a row.
inline constexpr int most_held_with_sums = 96;
/// Threads of a program with sums that a multiprocessor runs at once: as many as have registers for `most_held` words
/// each, and for `most_held_with_sums`.
inline constexpr int threads_with_sums = 512, threads_with_most_held = 384;
/// Registers that a thread of 1024 may fill with its part of a row: it has 64 in all.
inline constexpr std::int64_t most_held_words = 40, most_held_words_with_sums = 32;
/// Dynamic shared memory that a block of sm_90 and sm_100 may have.
inline constexpr std::size_t most_row_bytes = std::size_t{227} << 10;

/// The plan of a row program (or of a map with sums: one without reductions). Orders and collapses the axes of `job`,
/// whose row must become one axis. Throws value_error if it does not, or for a result that adds up some axes of the
/// rows and not others: such parts are kernels of their own. `shared_bytes` is what a block of the device may have,
/// `cluster` how many blocks may hold a row together.
plan plan_rows(task& job, std::size_t shared_bytes = most_row_bytes, int cluster = 1);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/plan/specialise_rows_impl.hpp>
#endif
