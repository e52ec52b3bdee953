// SPDX-License-Identifier: BSL-1.0
// The definitions of specialise_columns.hpp.
#pragma once

#include <kiln/device/cuda/plan/specialise_columns.hpp>

namespace kiln::cuda {

KILN_INLINE bool columns_suit(const task& job) {
  const int rank = job.domain.rank();
  if (!job.reduction_rooted || rank < 2 || job.reduced_axes != 1u << (rank - 1)) return false;
  bool along = false;
  for (const leaf_view& x : job.leaves) {
    if (!x.used) continue;
    if (x.strides[rank - 1] == 1 && job.domain[rank - 1] > 1) return false;
    along |= x.strides[rank - 2] == 1;
  }
  return along && detail::one_pass(job.tape);
}

KILN_INLINE plan plan_columns(task& job) {
  const int rank = job.domain.rank();
  detail::swap_axes(job, rank - 2, rank - 1);
  plan p{.shape = kernel_shape::columns, .rank = rank, .row_axes = 1};
  p.reduction_rooted = true;
  p.cut = job.part > 0;
  p.wide = detail::needs_wide(job);
  p.apart = detail::all_apart(job);
  detail::find_same_leaves(job, p);
  p.step = detail::step_of(job, 4);
  detail::plan_operands(job, p);
  // 40 registers where the compiler would take 44 to 48: six blocks in place of five.
  if (detail::work_of(job.tape) <= detail::light_work && job.leaves.size() <= 2) p.least_blocks = 6;
  for (operand_plan& y : p.results)  // the results of every part have to be aligned
    if (y.how == access::vectors && job.part_stride % p.step != 0) y.how = access::each;
  return p;
}

}  // namespace kiln::cuda
