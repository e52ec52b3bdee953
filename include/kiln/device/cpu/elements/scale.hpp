// SPDX-License-Identifier: BSL-1.0
// Elements times a number where they stand, and whether all of them are finite: what is done to gradients between
// backward and step. One loop reads and writes them once, and is a tenth of what two expressions compile.
#pragma once

#include <atomic>
#include <cstdint>

#include <kiln/core/dtype.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/all.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Multiplies n elements by a number, half types in float. Zeros become +0, whatever the number. Returns whether all
/// results are finite.
template <class S>
bool scale(S* p, std::int64_t n, double number) {
  using C = compute_t<S>;
  constexpr int N = vector_bytes / static_cast<int>(sizeof(C));
  using V = lanes<C, N>;
  const V by(static_cast<C>(number)), zero(C(0));
  std::atomic<bool> finite = true;
  parallel_for(n, std::int64_t{1} << 15, [&](std::int64_t begin, std::int64_t end) {
    const auto scaled = [&](V v) __attribute__((always_inline)) {
      return where(v == zero, zero, v * by);
    };
    V nothing = zero;  // differences of numbers and themselves: nan of one that is not finite
    std::int64_t i = begin;
    for (; i + N <= end; i += N) {
      store(p + i, scaled(load<N>(static_cast<const S*>(p + i))));
      const V kept = load<N>(static_cast<const S*>(p + i));
      nothing = nothing + (kept - kept);
    }
    if (const int rest = static_cast<int>(end - i); rest > 0) {
      store_partial(p + i, scaled(load_partial<N>(static_cast<const S*>(p + i), rest)), rest);
      const V kept = load_partial<N>(static_cast<const S*>(p + i), rest);
      nothing = nothing + (kept - kept);
    }
    if (!all(nothing == zero)) finite.store(false, std::memory_order_relaxed);
  });
  return finite.load(std::memory_order_relaxed);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
