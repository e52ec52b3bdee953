// SPDX-License-Identifier: BSL-1.0
// Keeps a library in memory that threads of its own run in. A plugin may be closed at any time, by somebody who knows
// nothing of its threads, and is then unmapped under them. (Compiled by g++ it mostly stays as it is, because of its
// unique symbols; by clang++, or with hidden visibility and -fno-gnu-unique, it does not.)
#pragma once

#if defined(__ELF__)
#include <dlfcn.h>
#endif

namespace kiln::detail {

#if defined(__ELF__)
// Weak: programs that are linked statically, or without -ldl where that is a library of its own, have none, and then
// nothing to be closed or nobody to close it.
static int weak_dladdr(const void*, Dl_info*) __attribute__((__weakref__("dladdr")));
static void* weak_dlopen(const char*, int) __attribute__((__weakref__("dlopen")));
#endif

/// The library, or program, that this function lies in stays until the process ends. False if the system does not say
/// which one it is.
inline bool keep_loaded(const void* function) noexcept {
#if defined(__ELF__)
  Dl_info found{};
  if (&weak_dladdr == nullptr || &weak_dlopen == nullptr) return false;
  if (weak_dladdr(function, &found) == 0 || found.dli_fname == nullptr) return false;
  // The handle is not closed: that is the hold.
  return weak_dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
#else
  static_cast<void>(function);
  return false;
#endif
}

}  // namespace kiln::detail
