// SPDX-License-Identifier: BSL-1.0
// The definitions of context.hpp.
#pragma once

#include <kiln/device/cuda/driver/context.hpp>
#include <kiln/device/cuda/driver/deferred.hpp>

namespace kiln::cuda {

KILN_INLINE context_handle context_of(Cuda device) {
  check_device(device);
  struct retained {
    std::once_flag once;
    context_handle context = nullptr;
  };
  static std::vector<retained>& all = *new std::vector<retained>(static_cast<std::size_t>(cuda_device_count()));
  retained& own = all[static_cast<std::size_t>(device.index)];
  std::call_once(own.once, [&] {  // tried again if it throws
    check(driver().primary_context_retain(&own.context, properties(device).number), "cuDevicePrimaryCtxRetain");
  });
  return own.context;
}

KILN_INLINE void connect(Cuda from, Cuda to) {
  static detail::device_lock& mutex = *new detail::device_lock;
  static std::set<std::pair<int, int>>& connected = *new std::set<std::pair<int, int>>;
  const std::lock_guard lock(mutex);
  if (from == to || !connected.emplace(from.index, to.index).second) return;
  const driver_functions& api = driver();
  int possible = 0;
  check(api.device_can_access_peer(&possible, properties(to).number, properties(from).number), "connect");
  if (possible == 0) return;
  const context_handle other = context_of(from);
  const device_scope scope(to);
  const driver_result result = api.context_enable_peer_access(other, 0);
  if (result != driver_result::peer_access_already_enabled) check(result, "connect");
}

KILN_INLINE void synchronize(Cuda device) {
  detail::run_deferred();
  const device_scope scope(device);
  check(driver().context_synchronize(), "synchronize");
}

}  // namespace kiln::cuda
