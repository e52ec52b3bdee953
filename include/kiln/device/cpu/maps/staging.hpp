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

template <class Word>
inline void transpose_words(void* to, std::int64_t to_stride, const void* from, std::int64_t from_stride,
                            std::int64_t rows, std::int64_t columns) {
  Word* out = static_cast<Word*>(to);
  const Word* in = static_cast<const Word*>(from);
  // Squares of as many rows as a register has words are turned in registers, the rest word by word; so are bytes.
  constexpr bool by_registers = sizeof(Word) > 1;
  constexpr std::int64_t side = std::min<std::int64_t>(vector_bytes / static_cast<std::int64_t>(sizeof(Word)), 16);
  for (std::int64_t c0 = 0; c0 < columns; c0 += side)
    for (std::int64_t r0 = 0; r0 < rows; r0 += side) {
      const std::int64_t c1 = std::min(c0 + side, columns), r1 = std::min(r0 + side, rows);
      if constexpr (by_registers)
        if (c1 - c0 == side && r1 - r0 == side) {
          using V = native_t<Word, static_cast<int>(side)>;
          V square[static_cast<std::size_t>(side)];
          for (std::int64_t c = 0; c < side; ++c) std::memcpy(&square[c], in + (c0 + c) * from_stride + r0, sizeof(V));
          transpose_registers(square);
          for (std::int64_t r = 0; r < side; ++r) std::memcpy(out + (r0 + r) * to_stride + c0, &square[r], sizeof(V));
          continue;
        }
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

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
