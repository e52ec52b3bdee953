// SPDX-License-Identifier: BSL-1.0
// The vectors that a matrix product is made of: their width, how many rows and vectors a tile has, moves between them
// and memory with half types converted, and the transposition of a square of them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/memory.hpp>
#include <kiln/device/cpu/simd/partial.hpp>
#include <kiln/device/cpu/simd/transpose.hpp>
#include <kiln/device/cpu/simd/unroll.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

// 32 registers hold a tile of 12 x 2 vectors with its operands, 16 registers one of 6 x 2.
#if defined(__AVX512F__)
inline constexpr int gemm_row_step = 4;
#elif defined(__AVX__)
inline constexpr int gemm_row_step = 2;
#elif defined(__aarch64__)
inline constexpr int gemm_row_step = 4;
#else
inline constexpr int gemm_row_step = 2;
#endif
inline constexpr int gemm_rows = 3 * gemm_row_step;  // tiles at the edge have a third or two thirds of that

template <class T>
struct gemm_vector {
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));
  using type = native_t<T, lanes>;
};
template <class T>
inline constexpr int gemm_width = 2 * gemm_vector<T>::lanes;

/// Whether elements of S can be read as vectors of T: as they are, or as half types that the processor converts.
template <class T, class S>
inline constexpr bool gemm_reads = std::is_same_v<T, S> ||
                                   (std::is_same_v<T, float> && sizeof(S) == 2 && std::is_same_v<opmath_t<S>, T>);

/// Whether part of a vector is loaded as fast as all of it.
template <class T>
inline constexpr bool gemm_masked = hardware::MaskedLoad<vector_bytes, static_cast<int>(sizeof(T))>;

template <class V, class S>
[[gnu::always_inline]] inline V load_vector(const S* from) {
  V out;
  if constexpr (sizeof(S) == sizeof(out[0]))
    std::memcpy(&out, from, sizeof(V));
  else
    out = load<static_cast<int>(sizeof(V) / sizeof(out[0]))>(from).v;
  return out;
}
template <class V, class S>
[[gnu::always_inline]] inline void store_vector(S* to, V value) {
  if constexpr (sizeof(S) == sizeof(value[0])) {
    std::memcpy(to, &value, sizeof(V));
  } else {
    using T = std::remove_cvref_t<decltype(value[0])>;
    store(to, lanes<T, static_cast<int>(sizeof(V) / sizeof(T))>(value));
  }
}

// A value that is used `Uses` times, loaded once for all of them. g++ would rather read it again by each instruction
// that uses it, and a tile of sums then waits for loads, of which processors do no more in a cycle than sums.
template <int Uses, class V>
[[gnu::always_inline]] inline V loaded_once(V value) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if constexpr (Uses > 1) asm("" : "+v"(value));
#endif
  return value;
}

// A step of so many elements in bytes, for pointers that `step_on` moves. Of elements g++ -O3 would compile a loop once
// more for steps of one, and either with values that are moved between registers.
template <class T>
[[gnu::always_inline]] inline std::int64_t step_bytes(std::int64_t elements) {
  std::int64_t bytes = elements * std::int64_t{sizeof(T)};
#if defined(__GNUC__) && !defined(__clang__)
  asm("" : "+r"(bytes));
#endif
  return bytes;
}
template <class T>
[[gnu::always_inline]] inline const T* step_on(const T* from, std::int64_t bytes) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(from) + bytes);
}

// Brings the lines of `Count` elements closer, the last of them too: a row that begins within a line ends in one more
// line than its size says, and the load that waits for that one holds up the whole tile.
template <int Count, int ToWrite = 0, class S>
[[gnu::always_inline]] inline void prefetch_row(const S* from) {
  constexpr int line = 64 / static_cast<int>(sizeof(S));
  unroll<(Count + line - 1) / line>([&](int i) __attribute__((always_inline)) {
    __builtin_prefetch(from + i * line, ToWrite);
  });
  __builtin_prefetch(from + Count - 1, ToWrite);
}

// The last `count` lanes of a vector, from 1 to all of them, and zero in those before.
template <class V>
[[gnu::always_inline]] inline V last_lanes(V value, int count) {
  static constexpr auto masks = [] {
    std::array<signed char, std::size_t{2 * vector_bytes}> out{};
    for (std::size_t i = vector_bytes; i < out.size(); ++i) out[i] = -1;
    return out;
  }();
  using bytes = native_t<signed char, vector_bytes>;
  const bytes mask = native_load<signed char, vector_bytes>(masks.data() + count * static_cast<int>(sizeof(value[0])));
  return std::bit_cast<V>(std::bit_cast<bytes>(value) & mask);
}

// to[j * to_stride + i] = from[i * from_stride + j] for a square of vectors; rows from `valid` on are zero.
template <class T, class S>
[[gnu::noinline]] void transpose_square(const S* from, std::int64_t from_stride, int valid, T* to,
                                        std::int64_t to_stride) {
  using V = typename gemm_vector<T>::type;
  constexpr int lanes = gemm_vector<T>::lanes;
  V rows[std::size_t{lanes}];
  unroll<lanes>([&](int i) __attribute__((always_inline)) {
    rows[i] = i < valid ? load_vector<V>(from + i * from_stride) : V{};
  });
  transpose_registers(rows);
  unroll<lanes>([&](int i) __attribute__((always_inline)) { store_vector(to + i * to_stride, rows[i]); });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
