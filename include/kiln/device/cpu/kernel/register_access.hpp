// SPDX-License-Identifier: BSL-1.0
// What lies between memory and a kernel's registers: whole ones, the rest of a strip, and leaves of a single value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <kiln/core/dtype.hpp>
#include <kiln/device/cpu/kernel/strip.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/all.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

// Loading and storing a whole register, or the `left` elements that are the rest of a strip.
template <int N, bool Tail, class S>
[[gnu::always_inline]] inline auto fetch(const S* p, std::int64_t left) {
  if constexpr (!Tail)
    return load<N>(p);
  else
    return load_partial<N>(p, static_cast<int>(left));
}
template <bool Tail, class S, class V>
[[gnu::always_inline]] inline void put(S* p, V v, std::int64_t left) {
  if constexpr (Tail)
    store_partial(p, v, static_cast<int>(left));
  else
    store(p, v);
}
template <int N>
[[gnu::always_inline]] inline lanes<bool, N> first_lanes(std::int64_t left) {
  std::array<bool, static_cast<std::size_t>(N)> in{};
  for (int k = 0; k < N; ++k) in[static_cast<std::size_t>(k)] = k < left;
  return load<N>(static_cast<const bool*>(in.data()));
}

// Where the loop finds a leaf: a contiguous one in memory, a single value spread over a register's worth of stack.
// `mask` is all ones or zero, so that one loop serves every mixture of the two without a branch; where all leaves are
// contiguous, another loop does without the masks.
struct source {
  const void* base;
  std::int64_t mask;
};
template <class S, int N>
[[gnu::always_inline]] inline void find_source(const strip& s, int slot, source& from, unsigned char* workspace) {
  using E = compute_t<S>;
  const void* const in = s.in[slot];
  from = {in, -1};
  if (s.step[slot] != 0 || s.count == 0) return;
  store(reinterpret_cast<S*>(workspace), lanes<E, N>(static_cast<E>(*static_cast<const S*>(in))));
  from = {workspace, 0};
}

// What a long program does for each of its leaves and results around its loop, by calls.
template <class S, int N>
[[gnu::noinline]] void called_find_source(const strip& s, int slot, source& from, unsigned char* workspace) {
  find_source<S, N>(s, slot, from, workspace);
}
template <class S, int N>
[[gnu::noinline]] void pad(source& from, unsigned char* workspace, std::int64_t i, std::int64_t left) {
  if (from.mask == 0) return;
  store(reinterpret_cast<S*>(workspace), load_partial<N>(static_cast<const S*>(from.base) + i, static_cast<int>(left)));
  from = {workspace, 0};
}
template <class S, int N>
[[gnu::noinline]] void put_end(void* out, bool add, const unsigned char* end, std::int64_t i, std::int64_t left) {
  if (!out) return;
  S* const p = static_cast<S*>(out) + i;
  auto value = load<N>(reinterpret_cast<const S*>(end));
  if constexpr (!std::is_same_v<S, bool>)
    if (add) value = load_partial<N>(static_cast<const S*>(p), static_cast<int>(left)) + value;
  store_partial(p, value, static_cast<int>(left));
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
