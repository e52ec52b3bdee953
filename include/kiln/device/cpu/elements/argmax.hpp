// SPDX-License-Identifier: BSL-1.0
// Where the largest or smallest of some elements is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <kiln/core/dtype.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/all.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {
template <bool Largest, class V>
[[gnu::always_inline]] inline auto beats(V a, V b) {
  if constexpr (Largest)
    return a > b;
  else
    return a < b;
}
}  // namespace detail

/// Index of the first of the best elements among n > 0; a nan is better than all else.
template <bool Largest, class S>
std::int64_t best_index(const S* p, std::int64_t n) {
  using C = compute_t<S>;
  constexpr int N = vector_bytes / static_cast<int>(sizeof(C));
  using V = lanes<C, N>;
  if (n < 2 * N) {
    std::int64_t at = 0;
    for (std::int64_t i = 1; i < n; ++i) {
      const C v = static_cast<C>(p[i]), best = static_cast<C>(p[at]);
      if (detail::beats<Largest>(v, best) || (v != v && best == best)) at = i;
    }
    return at;
  }
  // Blocks that stay in first-level cache: which one holds the best element is found first, then its place in there.
  constexpr std::int64_t block = 4096;
  const auto vector_at = [=](std::int64_t i) {
    return n - i >= N ? load<N>(p + i) : load_partial<N>(p + i, static_cast<int>(n - i));
  };
  std::int64_t start = 0;
  C best{};
  bool ordered = true;
  for (std::int64_t b = 0; b < n && ordered; b += block) {
    V high = vector_at(b);
    auto without_nan = high == high;
    for (std::int64_t i = b + N; i < std::min(b + block, n); i += N) {
      const V v = vector_at(i);
      without_nan = without_nan & (v == v);
      high = where(detail::beats<Largest>(v, high), v, high);
    }
    const auto each = to_array(high);
    C here = each[0];
    for (const C v : each) here = detail::beats<Largest>(v, here) ? v : here;
    ordered = all(without_nan);
    if (b == 0 || !ordered || detail::beats<Largest>(here, best)) {
      best = here;
      start = b;
    }
  }
  for (std::int64_t i = start;; i += N) {
    const V v = vector_at(i);
    if (!any(ordered ? v == V(best) : v != v)) continue;
    const auto each = to_array(v);
    std::int64_t k = 0;
    while (ordered ? each[static_cast<std::size_t>(k)] != best
                   : each[static_cast<std::size_t>(k)] == each[static_cast<std::size_t>(k)])
      ++k;
    return i + k;
  }
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
