// SPDX-License-Identifier: BSL-1.0
// The definitions of specialise_reduce.hpp.
#pragma once

#include <kiln/device/cuda/plan/specialise_reduce.hpp>

namespace kiln::cuda {

KILN_INLINE plan plan_reduce(task& job) {
  for (const leaf_view& x : job.leaves) {
    if (!x.used) continue;
    for (int i = 1; i < job.domain.rank(); ++i)
      for (int j = i; j > 0 && std::abs(x.strides[j - 1]) < std::abs(x.strides[j]); --j)
        detail::swap_axes(job, j - 1, j);
    break;
  }
  for (result_view& y : job.results) y.strides = dims::filled(job.domain.rank(), 0);
  job.reduced_axes = 0;
  collapse(job);
  if (job.domain.rank() == 0) {
    detail::each_operand(job, [](dims& strides) { strides.push_back(0); });
    job.domain.push_back(1);
  }
  plan p{.shape = kernel_shape::reduce_all, .rank = job.domain.rank()};
  p.wide = detail::needs_wide(job);
  p.apart = true;  // shares lie in memory of their own
  detail::find_same_leaves(job, p);
  p.step = detail::step_of(job, 8);
  detail::plan_operands(job, p);
  return p;
}

}  // namespace kiln::cuda
