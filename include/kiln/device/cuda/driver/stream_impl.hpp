// SPDX-License-Identifier: BSL-1.0
// The definitions of stream.hpp.
#pragma once

#include <kiln/device/cuda/driver/stream.hpp>

namespace kiln::cuda {

KILN_INLINE void destroy(stream_state* state) noexcept {
  if (!state->foreign) detail::with_context(state->device, [state] { driver().stream_destroy(state->handle); });
  delete state;
}

namespace detail {

KILN_INLINE void refuse_in_capture(std::string_view operation) {
  if (!capturing) return;
  throw device_error(message(operation,
                             ": not possible while a graph is captured, since the work is only recorded; "
                             "do it before or after capture()"));
}

KILN_INLINE std::vector<stream>& chosen_streams() {
  static thread_local std::vector<stream> chosen;
  return chosen;
}

}  // namespace detail
}  // namespace kiln::cuda
