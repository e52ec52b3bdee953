// SPDX-License-Identifier: BSL-1.0
// The plan of row programs: who holds a row (a warp, a block, or nobody: then it is walked through once per pass), how
// many steps of it each thread keeps in registers, and which results are sums.
#pragma once

#include <algorithm>
#include <cstdint>
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
};
row_facts facts_of(const tape_view& t, const std::vector<operand_plan>& leaves);

/// What result y of a row program adds up over a collapsed domain.
summed sum_of(const result_view& y, const dims& domain, bool row_root);

int power_of_two_at_least(std::int64_t n);

}  // namespace detail

/// Elements that a thread may keep in registers for all arrays of a row program together.
inline constexpr int most_held = 64;

/// The plan of a row program (or of a map with sums: one without reductions). Orders and collapses the axes of `job`,
/// whose row must become one axis. Throws value_error if it does not, or for a result that adds up some axes of the
/// rows and not others: such parts are kernels of their own.
plan plan_rows(task& job);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/plan/specialise_rows_impl.hpp>
#endif
