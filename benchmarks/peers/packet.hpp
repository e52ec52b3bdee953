// SPDX-License-Identifier: BSL-1.0
// The vectors that the hand-written loops are made of: Eigen's packets (so that hand and library have the same tanh),
// and a store that goes past the cache.
#pragma once

#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>

#include <immintrin.h>

#include <cstddef>

namespace hand {

namespace ei = Eigen::internal;
using packet = ei::packet_traits<float>::type;
inline constexpr std::size_t width = ei::packet_traits<float>::size;

inline packet load(const float* from) {
  return ei::ploadu<packet>(from);
}
inline packet all(float value) {
  return ei::pset1<packet>(value);
}
inline void store(float* to, packet value) {
  ei::pstoreu(to, value);
}

/// Writes past the cache; `to` must be aligned to the packet. Call `stream_end` after the last one.
inline void stream(float* to, packet value) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, value);
#elif defined(__AVX__)
  _mm256_stream_ps(to, value);
#else
  _mm_stream_ps(to, value);
#endif
}
inline void stream_end() {
  _mm_sfence();
}

}  // namespace hand
