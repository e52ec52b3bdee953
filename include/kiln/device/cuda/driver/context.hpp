// SPDX-License-Identifier: BSL-1.0
// The primary context of each GPU, which all libraries of a process share, so that pointers and streams pass freely
// between kiln, CUDA's runtime and others.
#pragma once

#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/device.hpp>
#include <kiln/device/cuda/driver/driver.hpp>
#include <kiln/device/cuda/driver/forks.hpp>

namespace kiln::cuda {

/// The primary context of a device. Retained at the first call and then until the process ends, since static tensors
/// may be freed late. Throws device_error if there is no such device.
context_handle context_of(Cuda device);

/// Makes a device the one that the calls of the driver mean in this thread, until the end of the scope. A thread
/// without a context keeps that of device 0, which CUDA's runtime would give it at its first call too: else each scope
/// would set a context and take it away again.
class device_scope {
 public:
  explicit device_scope(Cuda device) : api_(driver()) {
    const context_handle wanted = context_of(device);
    check(api_.context_get_current(&before_), "cuCtxGetCurrent");
    if (before_ == wanted) return;
    check(api_.context_set_current(wanted), "cuCtxSetCurrent");
    changed_ = before_ != nullptr || device.index != 0;
  }
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;
  ~device_scope() {
    if (changed_ && !detail::lost_by_fork()) api_.context_set_current(before_);
  }

 private:
  const driver_functions& api_;
  context_handle before_ = nullptr;
  bool changed_ = false;
};

namespace detail {
// For what ends a handle: its device's context is current while `end()` runs. What fails is passed over: at the end of
// the process the driver may be gone, and there is nothing left to do then.
template <class End>
void with_context(Cuda device, End end) noexcept {
  if (lost_by_fork()) return;
  try {
    const device_scope scope(device);
    end();
  } catch (...) {
  }
}
}  // namespace detail

/// Lets copies from one device to another go straight, where the machine can; else they go through the host. Once is
/// enough, more does no harm.
void connect(Cuda from, Cuda to);

/// Waits for all work of a device. Throws device_error if some of it failed.
void synchronize(Cuda device);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/driver/context_impl.hpp>
#endif
