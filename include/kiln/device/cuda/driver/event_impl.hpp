// SPDX-License-Identifier: BSL-1.0
// The definitions of event.hpp.
#pragma once

#include <kiln/device/cuda/driver/event.hpp>

namespace kiln::cuda {

KILN_INLINE double milliseconds(const event& from, const event& to) {
  const device_scope scope(from.device());
  float time = 0;
  check(driver().event_elapsed_time(&time, from.handle(), to.handle()), "milliseconds");
  return static_cast<double>(time);
}

KILN_INLINE void hold_back(const stream& later, const stream& earlier) {
  if (later == earlier) return;
  event mark(earlier.device());
  mark.record(earlier);
  mark.hold_back(later);
}

}  // namespace kiln::cuda
