// SPDX-License-Identifier: BSL-1.0
// Environment variables: the one place that reads them.
#pragma once

#include <stdlib.h>
#if !defined(__linux__)
#include <unistd.h>
#endif

namespace kiln::detail {

/// What the environment says, or null. A program that runs with more rights than who started it (setuid, setgid, file
/// capabilities) has an empty one: where libraries and kernels come from is not for its caller to say.
inline const char* environment(const char* name) noexcept {
#if defined(__linux__)
  return ::secure_getenv(name);
#else
  return ::issetugid() != 0 ? nullptr : ::getenv(name);
#endif
}

}  // namespace kiln::detail
