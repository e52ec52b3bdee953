// SPDX-License-Identifier: BSL-1.0
// The width of the vector registers that the program is compiled for.
#pragma once

#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Bytes of one vector register: 64 with AVX-512, 32 with AVX, 16 otherwise (also where there are none: the compiler
/// then splits the vectors itself).
#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
