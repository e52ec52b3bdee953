// SPDX-License-Identifier: BSL-1.0
// The definitions of index.hpp.
#pragma once

#include <kiln/device/cuda/run/index.hpp>

namespace kiln::cuda {

KILN_INLINE void set_deterministic(bool on) {
  detail::sums_in_order = on;
}

KILN_INLINE bool deterministic() {
  return detail::sums_in_order;
}

KILN_INLINE void run_index(const index_job& job, dtype type, Cuda device) {
  if (count(job.domain) == 0) return;
  detail::index_run run(job, type, device);
  switch (job.move) {
    case index_move::gather:
      return run.each_by_itself(index_kernel::gather);
    case index_move::scatter:
      return run.each_by_itself(index_kernel::scatter);
    case index_move::scatter_add:
      break;
  }
  // No instruction exchanges a single byte, and atomics of half types would round at each step.
  const bool atomic = !detail::sums_in_order && size_of(type) > 1 && compute_type(type) == type;
  if (atomic)
    run.each_by_itself(index_kernel::scatter_add);
  else
    run.in_order();
}

}  // namespace kiln::cuda
