// SPDX-License-Identifier: BSL-1.0
// Writes past the cache: whole lines go to memory without being fetched from it first, and without driving out what is
// in the cache. For results that will have left it when they are read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/memory.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace hardware {
template <int Bytes>
struct streamed {};  // no such move
#if defined(__SSE2__)
template <>
struct streamed<16> {
  static void store(void* p, intrinsic::m128i a) { intrinsic::mm_stream_si128(p, a); }
  using type = intrinsic::m128i;
};
#endif
#if defined(__AVX__)
template <>
struct streamed<32> {
  static void store(void* p, intrinsic::m256i a) { intrinsic::mm256_stream_si256(p, a); }
  using type = intrinsic::m256i;
};
#endif
#if defined(__AVX512F__)
template <>
struct streamed<64> {
  static void store(void* p, intrinsic::m512i a) { intrinsic::mm512_stream_si512(p, a); }
  using type = intrinsic::m512i;
};
#endif
}  // namespace hardware

/// As `store`, past the cache where the processor can; `p` must then be aligned to a whole register.
template <class S, int N>
[[gnu::always_inline]] inline void store_non_temporal(S* p, lanes<opmath_t<S>, N> a) {
  if constexpr (!fits<opmath_t<S>, N>) {
    store_non_temporal(p, a.low);
    store_non_temporal(p + N / 2, a.high);
  } else {
    const auto stored = encoded<S, N>(a);
    using move = hardware::streamed<sizeof(stored)>;
    if constexpr (requires { typename move::type; })
      move::store(p, std::bit_cast<typename move::type>(stored));
    else
      std::memcpy(static_cast<void*>(p), &stored, sizeof(stored));
  }
}

/// Copies past the cache; any alignment.
inline void stream(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t line = static_cast<std::size_t>(vector_bytes);
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  const std::size_t head = std::min(bytes, (line - reinterpret_cast<std::uintptr_t>(out) % line) % line);
  std::memcpy(out, in, head);
  std::size_t i = head;
  for (; i + line <= bytes; i += line)
    store_non_temporal(reinterpret_cast<std::uint8_t*>(out + i),
                       load<vector_bytes>(reinterpret_cast<const std::uint8_t*>(in + i)));
  std::memcpy(out + i, in + i, bytes - i);
}

/// Orders streamed writes before what follows, on this thread.
inline void stream_fence() {
#if defined(__SSE2__)
  intrinsic::mm_sfence();
#endif
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
