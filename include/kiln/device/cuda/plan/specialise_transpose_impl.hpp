// SPDX-License-Identifier: BSL-1.0
// The definitions of specialise_transpose.hpp.
#pragma once

#include <kiln/device/cuda/plan/specialise_transpose.hpp>

namespace kiln::cuda {

KILN_INLINE int axis_to_turn(const task& job) {
  const int last = job.domain.rank() - 1;
  if (last < 1 || job.domain[last] < 8) return -1;
  for (const leaf_view& x : job.leaves) {
    if (!x.used || !x.is_memory() || x.strides[last] == 0 || x.strides[last] == 1) continue;
    for (int axis = 0; axis < last; ++axis)
      if (x.strides[axis] == 1 && job.domain[axis] >= 8) return axis;
  }
  return -1;
}

KILN_INLINE plan plan_transpose(task& job, int axis) {
  const int last = job.domain.rank() - 1;
  for (int i = axis; i + 1 < last; ++i) detail::swap_axes(job, i, i + 1);
  plan p{.shape = kernel_shape::transpose, .rank = job.domain.rank()};
  p.wide = detail::needs_wide(job);
  p.apart = detail::all_apart(job);
  detail::find_same_leaves(job, p);
  detail::plan_operands(job, p);
  for (std::size_t k = 0; k < job.leaves.size(); ++k) {
    const leaf_view& x = job.leaves[k];
    if (x.used && x.is_memory() && x.strides[last] != 0 && x.strides[last] != 1 && x.strides[last - 1] == 1)
      p.leaves[k].how = access::turned;
  }
  return p;
}

}  // namespace kiln::cuda
