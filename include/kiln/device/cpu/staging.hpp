// SPDX-License-Identifier: BSL-1.0
// Kernels read and write contiguous strips. What lies otherwise in memory is brought into a strip first (`gather`) or
// put in its place afterwards (`scatter`, `scatter_add`); a result too large for the cache is written past it
// (`stream`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <kiln/core/dtype.hpp>
#include <kiln/device/cpu/simd/all.hpp>

namespace kiln::cpu {

namespace detail {
template <class Word>
inline void gather_words(void* to, const void* from, std::int64_t stride, std::int64_t n) {
  Word* out = static_cast<Word*>(to);
  const Word* in = static_cast<const Word*>(from);
  for (std::int64_t i = 0; i < n; ++i) out[i] = in[i * stride];
}
template <class Word>
inline void scatter_words(void* to, std::int64_t stride, const void* from, std::int64_t n) {
  Word* out = static_cast<Word*>(to);
  const Word* in = static_cast<const Word*>(from);
  for (std::int64_t i = 0; i < n; ++i) out[i * stride] = in[i];
}
template <class Word>
inline void transpose_words(void* to, std::int64_t to_stride, const void* from, std::int64_t from_stride,
                            std::int64_t rows, std::int64_t columns) {
  Word* out = static_cast<Word*>(to);
  const Word* in = static_cast<const Word*>(from);
  // Small blocks keep both sides in registers and first-level cache.
  constexpr std::int64_t block = 8;
  for (std::int64_t c0 = 0; c0 < columns; c0 += block)
    for (std::int64_t r0 = 0; r0 < rows; r0 += block) {
      const std::int64_t c1 = std::min(c0 + block, columns), r1 = std::min(r0 + block, rows);
      for (std::int64_t c = c0; c < c1; ++c)
        for (std::int64_t r = r0; r < r1; ++r) out[r * to_stride + c] = in[c * from_stride + r];
    }
}
}  // namespace detail

/// n elements of `size` bytes, `stride` elements apart, into a contiguous strip.
inline void gather(void* to, const void* from, std::int64_t stride, std::int64_t n, std::size_t size) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * size);
    return;
  }
  switch (size) {
    case 1:
      return detail::gather_words<std::uint8_t>(to, from, stride, n);
    case 2:
      return detail::gather_words<std::uint16_t>(to, from, stride, n);
    case 4:
      return detail::gather_words<std::uint32_t>(to, from, stride, n);
    default:
      return detail::gather_words<std::uint64_t>(to, from, stride, n);
  }
}

/// A contiguous strip of n elements of `size` bytes to places `stride` elements apart.
inline void scatter(void* to, std::int64_t stride, const void* from, std::int64_t n, std::size_t size) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * size);
    return;
  }
  switch (size) {
    case 1:
      return detail::scatter_words<std::uint8_t>(to, stride, from, n);
    case 2:
      return detail::scatter_words<std::uint16_t>(to, stride, from, n);
    case 4:
      return detail::scatter_words<std::uint32_t>(to, stride, from, n);
    default:
      return detail::scatter_words<std::uint64_t>(to, stride, from, n);
  }
}

/// `columns` runs of `rows` neighbouring elements each, `from_stride` apart, turned into `rows` rows of `columns`.
inline void transpose_block(void* to, std::int64_t to_stride, const void* from, std::int64_t from_stride,
                            std::int64_t rows, std::int64_t columns, std::size_t size) {
  switch (size) {
    case 1:
      return detail::transpose_words<std::uint8_t>(to, to_stride, from, from_stride, rows, columns);
    case 2:
      return detail::transpose_words<std::uint16_t>(to, to_stride, from, from_stride, rows, columns);
    case 4:
      return detail::transpose_words<std::uint32_t>(to, to_stride, from, from_stride, rows, columns);
    default:
      return detail::transpose_words<std::uint64_t>(to, to_stride, from, from_stride, rows, columns);
  }
}

/// Copies to memory that will not be read soon, without bringing it into the cache first.
inline void stream(void* to, const void* from, std::size_t bytes) {
#if defined(__AVX512F__)
  constexpr std::size_t line = 64;
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  const std::size_t head = std::min(bytes, (line - reinterpret_cast<std::uintptr_t>(out) % line) % line);
  std::memcpy(out, in, head);
  std::size_t i = head;
  for (; i + line <= bytes; i += line) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), _mm512_loadu_si512(in + i));
  }
  std::memcpy(out + i, in + i, bytes - i);
#elif defined(__SSE2__)
  constexpr std::size_t line = 16;
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  const std::size_t head = std::min(bytes, (line - reinterpret_cast<std::uintptr_t>(out) % line) % line);
  std::memcpy(out, in, head);
  std::size_t i = head;
  for (; i + line <= bytes; i += line)
    _mm_stream_si128(reinterpret_cast<__m128i*>(out + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
  std::memcpy(out + i, in + i, bytes - i);
#else
  std::memcpy(to, from, bytes);
#endif
}

/// Orders streamed writes before what follows, on this thread.
inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace kiln::cpu
