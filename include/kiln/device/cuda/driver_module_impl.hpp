// SPDX-License-Identifier: BSL-1.0
// The definitions of driver_module.hpp.
#pragma once

#include <kiln/device/cuda/driver_module.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE std::atomic<bool>& waits_after_launch() {
  static std::atomic<bool> waits = environment("KILN_SYNC") == "1";
  return waits;
}

}  // namespace detail

}  // namespace kiln::cuda

namespace kiln::cuda {

KILN_INLINE void set_launch_waits(bool on) {
  detail::waits_after_launch() = on;
}

}  // namespace kiln::cuda
