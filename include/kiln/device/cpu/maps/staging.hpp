// SPDX-License-Identifier: BSL-1.0
// Kernels read and write contiguous strips. What lies otherwise in memory is brought into a strip first (`gather`) or
// put in its place afterwards (`scatter`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <kiln/core/dtype.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/all.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

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

/// The squares of words of so many bytes that are turned at once, as wide as a register; of bytes one by one.
constexpr std::int64_t square_side(std::size_t size) {
  return size == 1 ? 16 : std::min<std::int64_t>(vector_bytes / static_cast<std::int64_t>(size), 16);
}
/// Turns squares of as many rows; how many rows that are.
template <class Word>
inline std::int64_t transpose_squares(void* to, std::int64_t to_stride, const void* from, std::int64_t from_stride,
                                      std::int64_t rows) {
  constexpr std::int64_t side = square_side(sizeof(Word));
  Word* out = static_cast<Word*>(to);
  const Word* in = static_cast<const Word*>(from);
  std::int64_t done = 0;
  for (; done + side <= rows; done += side, out += side * to_stride, in += side) {
    if constexpr (sizeof(Word) == 1) {
      for (std::int64_t c = 0; c < side; ++c)
        for (std::int64_t r = 0; r < side; ++r) out[r * to_stride + c] = in[c * from_stride + r];
    } else {
      using V = native_t<Word, static_cast<int>(side)>;
      V square[static_cast<std::size_t>(side)];
      for (std::int64_t c = 0; c < side; ++c) std::memcpy(&square[c], in + c * from_stride, sizeof(V));
      transpose_registers(square);
      for (std::int64_t r = 0; r < side; ++r) std::memcpy(out + r * to_stride, &square[r], sizeof(V));
    }
  }
  return done;
}
}  // namespace detail

/// n elements of `size` bytes, `stride` elements apart, into a contiguous strip.
[[gnu::noinline]] inline void gather(void* to, const void* from, std::int64_t stride, std::int64_t n,
                                     std::size_t size) {
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
[[gnu::noinline]] inline void scatter(void* to, std::int64_t stride, const void* from, std::int64_t n,
                                      std::size_t size) {
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

/// `columns` runs of `rows` neighbouring elements each, `from_stride` apart, turned into `rows` rows of `columns`:
/// whole squares first, and what is left row by row.
inline void transpose_block(void* to, std::int64_t to_stride, const void* from, std::int64_t from_stride,
                            std::int64_t rows, std::int64_t columns, std::size_t size) {
  const auto turn = size == 1   ? &detail::transpose_squares<std::uint8_t>
                    : size == 2 ? &detail::transpose_squares<std::uint16_t>
                    : size == 4 ? &detail::transpose_squares<std::uint32_t>
                                : &detail::transpose_squares<std::uint64_t>;
  const std::int64_t bytes = static_cast<std::int64_t>(size), side = detail::square_side(size);
  for (std::int64_t c = 0; c < columns; c += side) {
    char* const out = static_cast<char*>(to) + c * bytes;
    const char* const in = static_cast<const char*>(from) + c * from_stride * bytes;
    const std::int64_t n = std::min(side, columns - c);
    for (std::int64_t r = n == side ? turn(out, to_stride, in, from_stride, rows) : 0; r < rows; ++r)
      gather(out + r * to_stride * bytes, in + r * bytes, from_stride, n, size);
  }
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
