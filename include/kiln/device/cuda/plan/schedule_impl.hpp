// SPDX-License-Identifier: BSL-1.0
// The definitions of schedule.hpp.
#pragma once

#include <kiln/device/cuda/plan/schedule.hpp>

namespace kiln::cuda {

KILN_INLINE std::vector<launch> schedule(const task& job, const device_shape& device, const scratch_memory& memory) {
  detail::scheduler plan(device, memory);
  task joined = job;
  std::shared_ptr<const program> tape = detail::join_results(joined);
  plan.add(std::move(joined), std::move(tape));
  return std::move(plan.launches);
}

}  // namespace kiln::cuda
