// SPDX-License-Identifier: BSL-1.0
// `pack_panel` brings a strip of an operand into the order in which a tile of the product uses it (gemm_kernel.hpp),
// converted to the type that the product computes in and padded with zeros.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm_vector.hpp>
#include <kiln/device/cpu/simd/partial.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

// Elements that one panel of `depth` steps takes; its last store may run over by less than a vector.
template <class T>
constexpr std::int64_t panel_size(int count, std::int64_t depth) {
  return (count * depth + 2 * gemm_vector<T>::lanes - 1) / gemm_vector<T>::lanes * gemm_vector<T>::lanes;
}

// `Count` neighbouring elements, converted.
template <int Count, class T, class S>
[[gnu::always_inline]] inline void copy_row(T* to, const S* from) {
  if constexpr (std::is_same_v<T, S>) {
    std::memcpy(to, from, Count * sizeof(T));
  } else {
    constexpr int whole = static_cast<int>(std::bit_floor(static_cast<unsigned>(Count)));
    constexpr int part = whole < gemm_vector<T>::lanes ? whole : gemm_vector<T>::lanes;
    store(to, load<part>(from));
    if constexpr (Count > part) copy_row<Count - part>(to + part, from + part);
  }
}

// The strip's elements that stand side by side are those of one step.
template <int Count, class T, class S>
void pack_side_by_side(std::int64_t depth, int valid, const S* from, std::int64_t along, T* to) {
  if (valid == Count) {
    for (std::int64_t p = 0; p < depth; ++p) copy_row<Count>(to + p * Count, from + p * along);
    return;
  }
  constexpr int lanes = gemm_vector<T>::lanes;
  if constexpr (std::is_same_v<T, S> && gemm_masked<T>) {
    // What a store runs over is written by the next step.
    for (std::int64_t p = 0; p < depth; ++p) {
      unroll<(Count + lanes - 1) / lanes>([&](int v) __attribute__((always_inline)) {
        const int some = valid - v * lanes;
        const S* const first = from + p * along + (some > 0 ? v * lanes : 0);
        const int count = some < 0 ? 0 : some < lanes ? some : lanes;
        store_vector(to + p * Count + v * lanes, native_load_partial<T, lanes>(first, count, T{}));
      });
    }
    return;
  }
  constexpr auto whole = static_cast<int>(std::bit_ceil(static_cast<unsigned>(Count)));
  S padded[std::size_t{whole}] = {};
  for (std::int64_t p = 0; p < depth; ++p) {
    copy_fewer<whole>(padded, from + p * along, valid);
    copy_row<Count>(to + p * Count, static_cast<const S*>(padded));
  }
}

// The strip's elements that stand side by side are those of one row or column: squares of them are transposed.
template <int Count, class T, class S>
void pack_transposed(std::int64_t depth, int valid, const S* from, std::int64_t across, T* to) {
  constexpr int lanes = gemm_vector<T>::lanes;
  const auto squares = [valid](const S* first_row, std::int64_t stride, T* out) __attribute__((always_inline)) {
    // Backwards, so that what a store runs over is written again, by a lower one or by the next step.
    for (int first = (Count - 1) / lanes * lanes; first >= 0; first -= lanes) {
      transpose_square(first_row + first * stride, stride, valid - first, out + first, Count);
    }
  };
  const std::int64_t whole = depth - depth % lanes;
  for (std::int64_t p = 0; p < whole; p += lanes) squares(from + p, across, to + p * Count);
  if (whole == depth) return;
  const int rest = static_cast<int>(depth - whole);
  S rows[std::size_t{Count * lanes}] = {};
  T out[std::size_t{Count * lanes + lanes}];
  // (`valid` is at most Count, which g++ -O3 does not see, and warns.)
  for (int i = 0; i < std::min(valid, Count); ++i) copy_fewer<lanes>(rows + i * lanes, from + i * across + whole, rest);
  squares(rows, lanes, out);
  std::memcpy(to + whole * Count, out, static_cast<std::size_t>(rest) * Count * sizeof(T));
}

/// Writes to[p * Count + i] = from[i * across + p * along] for p < depth and i < valid, and zero for i up to Count,
/// converted to the type that the product computes in.
template <int Count, class T, class S>
void pack_panel(std::int64_t depth, int valid, const S* from, std::int64_t across, std::int64_t along, T* to) {
  if constexpr (gemm_reads<T, S>) {
    if (across == 1) return pack_side_by_side<Count>(depth, valid, from, along, to);
    if (along == 1) return pack_transposed<Count>(depth, valid, from, across, to);
  }
  for (std::int64_t p = 0; p < depth; ++p) {
    for (int i = 0; i < Count; ++i) to[p * Count + i] = i < valid ? static_cast<T>(from[i * across + p * along]) : T{};
  }
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
