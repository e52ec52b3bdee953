// SPDX-License-Identifier: BSL-1.0
// The definitions of schedule_general.hpp.
#pragma once

#include <kiln/device/cuda/plan/schedule_general.hpp>

namespace kiln::cuda {

KILN_INLINE std::vector<launch> schedule_general(const task& job, const device_shape& device,
                                                 const scratch_memory& memory) {
  detail::general_scheduler plan(device, memory);
  plan.add(job);
  return std::move(plan.launches);
}

KILN_INLINE std::vector<launch> schedule_copy(const leaf_view& from, const result_view& to, const dims& domain,
                                              const device_shape& device, const scratch_memory& memory) {
  detail::general_scheduler plan(device, memory);
  plan.bring({from, to, domain});
  return std::move(plan.launches);
}

}  // namespace kiln::cuda
