// SPDX-License-Identifier: BSL-1.0
// Whether this process has one thread, which is where counting and locking need no locked instruction.
#pragma once

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace kiln::detail {

/// True if this process is known to have one thread only (glibc says so).
[[gnu::always_inline]] inline bool single_threaded() noexcept {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

}  // namespace kiln::detail
