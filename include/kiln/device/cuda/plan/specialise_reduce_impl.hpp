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
  p.apart = true;  // results are written when everything has been read
  detail::find_same_leaves(job, p);
  p.step = detail::step_of(job, 8);
  detail::plan_operands(job, p);
  p.even = p.rank > 1 && job.domain.back() % p.step == 0;
  int loads = 0;
  bool taken = false;  // at places that each step computes anew
  for (std::size_t i = 0; i < p.leaves.size(); ++i) {
    loads += p.leaves[i].how >= access::vectors && p.same_as[i] == static_cast<std::int16_t>(i);
    taken |= job.leaves[i].used && job.leaves[i].kind == leaf_kind::address;
  }
  if (!taken && (p.rank == 1 || p.even)) p.at_once = std::max(1, most_loads / std::max(1, loads));
  return p;
}

KILN_INLINE std::size_t reduce_scratch_bytes(const task& job, std::int64_t blocks) {
  std::size_t reductions = 0;
  for (int i = 0; i < job.tape.size; ++i) reductions += detail::reduces(job.tape, i);
  return reductions * static_cast<std::size_t>(blocks) * sizeof(std::uint64_t);
}

}  // namespace kiln::cuda
