// SPDX-License-Identifier: BSL-1.0
// Where a value is rounded, whatever the compiler could do with it later.
#pragma once

#include <type_traits>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/lanes.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Keeps the compiler from rounding a product only after it is added to something, which g++ does where it sees both:
/// a value has the same bits whichever instruction, loop or executor goes on with it.
template <class T, int N>
[[gnu::always_inline]] inline lanes<T, N> rounded_here(lanes<T, N> value) {
#if defined(__FMA__) || defined(__aarch64__)
  if constexpr (std::is_floating_point_v<T>) {
    if constexpr (!fits<T, N>) {
      value.low = rounded_here(value.low);
      value.high = rounded_here(value.high);
    } else {
#if defined(__aarch64__)
      asm("" : "+w"(value.v));
#else
      asm("" : "+v"(value.v));
#endif
    }
  }
#endif
  return value;
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
