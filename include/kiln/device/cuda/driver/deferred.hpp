// SPDX-License-Identifier: BSL-1.0
// Work of a thread that waits before it is queued in its stream: while warm_up (run/execute.hpp) compiles kernels on
// other threads. It is queued, in its order, as soon as somebody takes a stream's handle, waits for a device or gives
// memory back to the driver: nobody can see that it waited.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <kiln/core/version.hpp>

namespace kiln::cuda::detail {

/// What this thread has deferred; null if it does not defer.
inline constinit thread_local std::vector<std::function<void()>>* deferred = nullptr;

/// Keeps a call for later and returns true, if this thread defers. Calls throw what they throw when they are made.
template <class Call>
bool defer(Call call) {
  if (deferred == nullptr) return false;
  deferred->push_back(std::move(call));
  return true;
}

/// Makes the calls that this thread has deferred. If one throws, the later ones are dropped.
void run_deferred_calls();
inline void run_deferred() {
  if (deferred != nullptr && !deferred->empty()) run_deferred_calls();
}

}  // namespace kiln::cuda::detail

#ifndef KILN_COMPILED
#include <kiln/device/cuda/driver/deferred_impl.hpp>
#endif
