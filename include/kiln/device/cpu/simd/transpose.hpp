// SPDX-License-Identifier: BSL-1.0
// A square of vectors transposed in registers.
#pragma once

#include <cstddef>
#include <utility>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/unroll.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

// Swaps the off-diagonal blocks of size D of two rows of a matrix of vectors; all D together transpose it.
template <int D, class V, int... E>
[[gnu::always_inline]] inline void swap_blocks(V& upper, V& lower, std::integer_sequence<int, E...>) {
  constexpr int lanes = sizeof...(E);
  const V first = __builtin_shufflevector(upper, lower, ((E & D) != 0 ? lanes + E - D : E)...);
  lower = __builtin_shufflevector(upper, lower, ((E & D) != 0 ? lanes + E : E + D)...);
  upper = first;
}
/// Transposes as many vectors as each has lanes, a power of two.
template <int D = 1, class V, std::size_t Lanes>
[[gnu::always_inline]] inline void transpose_registers(V (&rows)[Lanes]) {
  constexpr int lanes = static_cast<int>(Lanes);
  unroll<lanes / 2>([&](int k) __attribute__((always_inline)) {
    const int upper = k / D * 2 * D + k % D;
    swap_blocks<D>(rows[upper], rows[upper + D], std::make_integer_sequence<int, lanes>{});
  });
  if constexpr (2 * D < lanes) transpose_registers<2 * D>(rows);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
