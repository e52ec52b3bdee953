// SPDX-License-Identifier: BSL-1.0
// The definitions of deferred.hpp.
#pragma once

#include <kiln/device/cuda/driver/deferred.hpp>

namespace kiln::cuda::detail {

KILN_INLINE void run_deferred_calls() {
  struct restored {
    std::vector<std::function<void()>>* const mine = std::exchange(deferred, nullptr);
    ~restored() {
      mine->clear();
      deferred = mine;
    }
  } queue;  // what the calls do themselves is not deferred again
  for (const auto& call : *queue.mine) call();
}

}  // namespace kiln::cuda::detail
