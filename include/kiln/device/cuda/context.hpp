// SPDX-License-Identifier: BSL-1.0
// The primary context of each GPU, which all libraries of a process share, so that pointers and streams pass freely
// between kiln, CUDA's runtime and others.
#pragma once

#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/device/cuda/device.hpp>
#include <kiln/device/cuda/driver.hpp>

namespace kiln::cuda {

/// The primary context of a device. Retained at the first call and then until the process ends, since static tensors
/// may be freed late. Throws device_error if there is no such device.
inline context_handle context_of(Cuda device) {
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

/// Makes a device the one that the driver's calls of this thread mean, until the end of the scope.
class device_scope {
 public:
  explicit device_scope(Cuda device) : api_(driver()) {
    const context_handle wanted = context_of(device);
    check(api_.context_get_current(&before_), "cuCtxGetCurrent");
    changed_ = before_ != wanted;
    if (changed_) check(api_.context_set_current(wanted), "cuCtxSetCurrent");
  }
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;
  ~device_scope() {
    if (changed_) api_.context_set_current(before_);
  }

 private:
  const driver_functions& api_;
  context_handle before_ = nullptr;
  bool changed_ = false;
};

/// Lets copies from one device to another go straight, where the machine can; else they go through the host. Once is
/// enough, more does no harm.
inline void connect(Cuda from, Cuda to) {
  static std::mutex& mutex = *new std::mutex;
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

/// Waits for all work of a device. Throws device_error if some of it failed.
inline void synchronize(Cuda device) {
  const device_scope scope(device);
  check(driver().context_synchronize(), "synchronize");
}

}  // namespace kiln::cuda
