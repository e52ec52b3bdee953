// SPDX-License-Identifier: BSL-1.0
// How this thread rounds, and whether it flushes subnormals: what fesetround and _MM_SET_FLUSH_ZERO_MODE set.
#pragma once

#include <cstdint>

namespace kiln::cpu::process {

/// The settings of this thread; not the exceptions that have been raised.
inline std::uint64_t float_control() noexcept {
#if defined(__SSE2__)
  return __builtin_ia32_stmxcsr() & ~std::uint64_t{0x3f};
#elif defined(__aarch64__)
  std::uint64_t now;
  asm volatile("mrs %0, fpcr" : "=r"(now));
  return now;
#else
  return 0;
#endif
}

/// Takes the settings of another thread over.
inline void set_float_control([[maybe_unused]] std::uint64_t to) noexcept {
  if (float_control() == to) return;
#if defined(__SSE2__)
  __builtin_ia32_ldmxcsr(static_cast<unsigned>(to));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" ::"r"(to));
#endif
}

}  // namespace kiln::cpu::process
