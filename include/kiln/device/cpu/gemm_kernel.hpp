// SPDX-License-Identifier: BSL-1.0
// The two inner pieces of a matrix product: `pack_panel` brings a strip of an operand into the order in which it is
// used, `gemm_tile` computes a tile of the result that lives in vector registers (the scheme of BLIS: Van Zee and
// van de Geijn, ACM TOMS 41(3), 2015). Edges are padded with zeros or repeated rows, so there is one kernel only.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <kiln/device/cpu/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

// 32 registers hold a tile of 12 x 2 vectors with its operands, 16 registers one of 6 x 2.
#if defined(__AVX512F__)
inline constexpr int gemm_vector_bytes = 64, gemm_row_step = 4;
#elif defined(__AVX__)
inline constexpr int gemm_vector_bytes = 32, gemm_row_step = 2;
#elif defined(__aarch64__)
inline constexpr int gemm_vector_bytes = 16, gemm_row_step = 4;
#else
inline constexpr int gemm_vector_bytes = 16, gemm_row_step = 2;
#endif
inline constexpr int gemm_rows = 3 * gemm_row_step;  // tiles at the edge have a third or two thirds of that

template <class T>
struct gemm_vector {
  typedef T type __attribute__((vector_size(gemm_vector_bytes)));
  static constexpr int lanes = gemm_vector_bytes / static_cast<int>(sizeof(T));
};
template <class T>
inline constexpr int gemm_width = 2 * gemm_vector<T>::lanes;

template <int Count, class F>
[[gnu::always_inline]] inline void unroll(F f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(I), ...);
  }
  (std::make_integer_sequence<int, Count>{});
}

template <class V, class T>
[[gnu::always_inline]] inline V load_vector(const T* from) {
  V out;
  std::memcpy(&out, from, sizeof(V));
  return out;
}
template <class V, class T>
[[gnu::always_inline]] inline void store_vector(T* to, V value) {
  std::memcpy(to, &value, sizeof(V));
}

// Copies fewer than 2 * Half elements, in pieces of constant size: a call of memcpy costs more than the copy.
template <int Half, class T>
[[gnu::always_inline]] inline void copy_few(T* to, const T* from, int count) {
  if ((count & Half) != 0) {
    std::memcpy(to, from, Half * sizeof(T));
    to += Half;
    from += Half;
  }
  if constexpr (Half > 1) copy_few<Half / 2>(to, from, count);
}

// Swaps the off-diagonal blocks of size D of two rows of a matrix of vectors; all D together transpose it.
template <int D, class V, int... E>
[[gnu::always_inline]] inline void swap_blocks(V& upper, V& lower, std::integer_sequence<int, E...>) {
  constexpr int lanes = sizeof...(E);
  const V first = __builtin_shufflevector(upper, lower, ((E & D) != 0 ? lanes + E - D : E)...);
  lower = __builtin_shufflevector(upper, lower, ((E & D) != 0 ? lanes + E : E + D)...);
  upper = first;
}
template <int D, class V, std::size_t Lanes>
[[gnu::always_inline]] inline void transpose_blocks(V (&rows)[Lanes]) {
  constexpr int lanes = static_cast<int>(Lanes);
  unroll<lanes>([&](int i) __attribute__((always_inline)) {
    if ((i & D) == 0) swap_blocks<D>(rows[i], rows[i + D], std::make_integer_sequence<int, lanes>{});
  });
  if constexpr (2 * D < lanes) transpose_blocks<2 * D>(rows);
}

// to[j * to_stride + i] = from[i * from_stride + j] for a square of vectors; rows from `valid` on are zero.
template <class T>
[[gnu::noinline]] void transpose_square(const T* from, std::int64_t from_stride, int valid, T* to,
                                        std::int64_t to_stride) {
  using V = typename gemm_vector<T>::type;
  constexpr int lanes = gemm_vector<T>::lanes;
  V rows[std::size_t{lanes}];
  unroll<lanes>([&](int i) __attribute__((always_inline)) {
    rows[i] = i < valid ? load_vector<V>(from + i * from_stride) : V{};
  });
  transpose_blocks<1>(rows);
  unroll<lanes>([&](int i) __attribute__((always_inline)) { store_vector(to + i * to_stride, rows[i]); });
}

// Elements that one panel of `depth` steps takes; its last store may run over by less than a vector.
template <class T>
constexpr std::int64_t panel_size(int count, std::int64_t depth) {
  return (count * depth + 2 * gemm_vector<T>::lanes - 1) / gemm_vector<T>::lanes * gemm_vector<T>::lanes;
}

/// Writes to[p * Count + i] = from[i * across + p * along] for p < depth and i < valid, and zero for i up to Count,
/// converted to the type that the product computes in.
template <int Count, class T, class S>
void pack_panel(std::int64_t depth, int valid, const S* from, std::int64_t across, std::int64_t along, T* to) {
  if constexpr (std::is_same_v<T, S>) {
    if (across == 1 && valid == Count) {
      for (std::int64_t p = 0; p < depth; ++p) std::memcpy(to + p * Count, from + p * along, Count * sizeof(T));
      return;
    }
    if (across == 1) {
      constexpr auto half = static_cast<int>(std::bit_floor(static_cast<unsigned>(Count)));
      for (std::int64_t p = 0; p < depth; ++p) {
        std::memset(to + p * Count, 0, Count * sizeof(T));
        copy_few<half>(to + p * Count, from + p * along, valid);
      }
      return;
    }
    if (along == 1) {
      constexpr int lanes = gemm_vector<T>::lanes;
      const std::int64_t whole = depth - depth % lanes;
      for (std::int64_t p = 0; p < whole; p += lanes) {
        // Backwards, so that what a store runs over is written again, by a lower one or by the next step.
        for (int first = (Count - 1) / lanes * lanes; first >= 0; first -= lanes) {
          transpose_square(from + first * across + p, across, valid - first, to + p * Count + first, Count);
        }
      }
      for (std::int64_t p = whole; p < depth; ++p) {
        for (int i = 0; i < Count; ++i) to[p * Count + i] = i < valid ? from[i * across + p] : T{};
      }
      return;
    }
  }
  for (std::int64_t p = 0; p < depth; ++p) {
    for (int i = 0; i < Count; ++i) to[p * Count + i] = i < valid ? static_cast<T>(from[i * across + p * along]) : T{};
  }
}

// Where a tile goes: element (i, j) to data[i * row + j * column], added to what is there or in its place.
template <class S>
struct gemm_target {
  S* data;
  std::int64_t row, column;
  int rows, columns;  // those that exist; the tile may be larger
  bool add;
};

// The slow way out: tiles over the edge, across the rows of C, or of a type that is not computed in.
template <class T, class S>
[[gnu::noinline]] void store_tile(const T* values, int width, const gemm_target<S>& c) {
  if constexpr (std::is_same_v<T, S>) {
    if (c.column == 1 && !c.add) {
      for (int i = 0; i < c.rows; ++i) copy_few<gemm_width<T>>(c.data + i * c.row, values + i * width, c.columns);
      return;
    }
  }
  const auto put = [&](int i, int j) __attribute__((always_inline)) {
    S& to = c.data[i * c.row + j * c.column];
    const T value = values[i * width + j];
    to = static_cast<S>(c.add ? static_cast<T>(to) + value : value);
  };
  if (c.column == 1) {
    for (int i = 0; i < c.rows; ++i) {
      for (int j = 0; j < c.columns; ++j) put(i, j);
    }
  } else {
    for (int j = 0; j < c.columns; ++j) {
      for (int i = 0; i < c.rows; ++i) put(i, j);
    }
  }
}

/// One tile: the product of `Rows` rows of A (packed, or rows `a_row` apart that run along the product) and `Vectors`
/// vectors of columns of B, whose rows are `b_row` apart.
template <int Rows, int Vectors, bool Packed, class T, class S>
[[gnu::noinline]] void gemm_tile(std::int64_t depth, const T* a, std::int64_t a_row, const T* b, std::int64_t b_row,
                                 const gemm_target<S>& c) {
  using V = typename gemm_vector<T>::type;
  constexpr int lanes = gemm_vector<T>::lanes, width = Vectors * lanes;
  // A pointer for every few rows, the others at multiples of the stride from it: twelve would not fit the registers.
  constexpr int together = Packed ? Rows : gemm_row_step, groups = Rows / together;
  const T* row[std::size_t{groups}];
  unroll<groups>([&](int g) __attribute__((always_inline)) { row[g] = a + g * together * a_row; });
  V sum[std::size_t{Rows}][std::size_t{Vectors}] = {};
  for (std::int64_t p = 0; p < depth; ++p, b += b_row) {
    V columns[std::size_t{Vectors}];
    unroll<Vectors>([&](int v) __attribute__((always_inline)) { columns[v] = load_vector<V>(b + v * lanes); });
    unroll<Rows>([&](int i) __attribute__((always_inline)) {
      const T value = row[i / together][i % together * (Packed ? 1 : a_row)];
      unroll<Vectors>([&](int v) __attribute__((always_inline)) { sum[i][v] += columns[v] * value; });
    });
    unroll<groups>([&](int g) __attribute__((always_inline)) { row[g] += Packed ? Rows : 1; });
  }
  if constexpr (std::is_same_v<T, S>) {
    if (c.column == 1 && c.columns == width) {
      unroll<Rows>([&](int i) __attribute__((always_inline)) {
        if (i >= c.rows) return;
        unroll<Vectors>([&](int v) __attribute__((always_inline)) {
          S* to = c.data + i * c.row + v * lanes;
          store_vector(to, c.add ? load_vector<V>(to) + sum[i][v] : sum[i][v]);
        });
      });
      return;
    }
  }
  T values[std::size_t{Rows * width}];
  unroll<Rows>([&](int i) __attribute__((always_inline)) {
    unroll<Vectors>([&](auto v)
                        __attribute__((always_inline)) { store_vector(values + i * width + v * lanes, sum[i][v]); });
  });
  store_tile(values, width, c);
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
