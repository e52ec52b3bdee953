// SPDX-License-Identifier: BSL-1.0
// The inner piece of a matrix product: `gemm_tile` computes a tile of the result that lives in vector registers (the
// scheme of BLIS: Van Zee and van de Geijn, ACM TOMS 41(3), 2015). It reads operands packed into panels (gemm_pack.hpp)
// or where they are, and in the second case packs them for the tiles that follow as it goes: the values are in
// registers anyway, and its stores have nothing else to wait for. A tile with a few rows or columns missing is computed
// whole and stored in part; gemm_edge.hpp has those with many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm_vector.hpp>
#include <kiln/device/cpu/simd/partial.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

/// The rows of A that a tile takes, packed or where they are: element (i, p) at data[i * row + p * step]. `copy`, if
/// any, gets them packed; their rows are 1 apart then.
template <class T>
struct gemm_left {
  const T* data;
  std::int64_t row, step;
  T* copy = nullptr;
};

/// What is done for tiles to come, a row every so many steps: two vectors of columns of B packed, from `from` to `to`.
/// Without a `to`, the row's first line is only brought closer.
template <class T, class S>
struct gemm_later {
  const S* from = nullptr;
  std::int64_t step = 0, every = 0;
  T* to = nullptr;
};

/// The columns of B that a tile takes: element (p, j) at data[p * step + j]. With a `source`, they are read there and
/// written to `copy`, packed, which takes no copy of A and leaves nothing for later.
template <class T, class S>
struct gemm_right {
  const T* data;
  std::int64_t step;
  const S* source = nullptr;
  T* copy = nullptr;
  gemm_later<T, S> later = {};
};

// Where a tile goes: element (i, j) to data[i * row + j * column], added to what is there or in its place. Half types
// are rounded once: sums over part of the product stay in `partial`, whose rows are `partial_row` apart and have room
// for whole tiles.
template <class T, class S>
struct gemm_target {
  S* data;
  std::int64_t row, column;
  int rows, columns;  // those that exist; the tile may be larger
  bool add;
  T* partial = nullptr;
  std::int64_t partial_row = 0;
  bool first = true, last = true;  // whether the sums begin here, and whether they end here
};

// The slow way out: tiles over the edge, across the rows of C, or of a type that is not read as vectors.
template <class T, class S>
[[gnu::noinline]] void store_tile(const T* values, int width, const gemm_target<T, S>& c) {
  constexpr int lanes = gemm_vector<T>::lanes;
  if constexpr (gemm_reads<T, S> && !std::is_integral_v<T>) {
    if (c.column == 1) {
      for (int i = 0; i < c.rows; ++i) {
        for (int j = 0; j < c.columns; j += lanes) {
          const int count = c.columns - j < lanes ? c.columns - j : lanes;
          S* const to = c.data + i * c.row + j;
          const auto sum = load<lanes>(values + i * width + j);
          store_partial(to, c.add ? load_partial_or<lanes>(static_cast<const S*>(to), count, {}) + sum : sum, count);
        }
      }
      return;
    }
  }
  if constexpr (gemm_reads<T, S> && !std::is_integral_v<T>) {
    if (c.row == 1 && c.rows <= lanes && c.rows * c.columns > 4 * lanes) {
      T turned[std::size_t{lanes * lanes}];
      for (int first = 0; first < c.columns; first += lanes) {
        transpose_square(values + first, width, c.rows, turned, lanes);
        for (int j = first; j < c.columns && j < first + lanes; ++j) {
          S* const to = c.data + j * c.column;
          const auto sum = load<lanes>(static_cast<const T*>(turned) + (j - first) * lanes);
          store_partial(to, c.add ? load_partial_or<lanes>(static_cast<const S*>(to), c.rows, {}) + sum : sum, c.rows);
        }
      }
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

template <class T, class S>
[[gnu::always_inline]] inline void later_row(gemm_later<T, S>& later) {
  using V = typename gemm_vector<T>::type;
  constexpr int lanes = gemm_vector<T>::lanes;
  if constexpr (gemm_reads<T, S>) {
    if (later.to != nullptr) {
      constexpr std::int64_t ahead = 8;  // rows from a prefetch to its use
      prefetch_row<2 * lanes>(later.from + ahead * later.step);
      unroll<2>([&](int v) __attribute__((always_inline)) {
        store_vector(later.to + v * lanes, load_vector<V>(later.from + v * lanes));
      });
      later.to += 2 * lanes;
      later.from += later.step;
      return;
    }
  }
  __builtin_prefetch(later.from, 0, 2);
  later.from += later.step;
}

// Half types: adds what was kept of the sums so far, and keeps them again if they don't end here. Says whether it did.
template <class T, class S, class V, std::size_t Rows, std::size_t Vectors>
[[gnu::always_inline]] inline bool keep_sums(V (&sum)[Rows][Vectors], const gemm_target<T, S>& c) {
  if constexpr (!std::is_same_v<T, S>) {
    if (c.partial != nullptr) {
      unroll<int{Rows}>([&](int i) __attribute__((always_inline)) {
        if (i >= c.rows) return;
        unroll<int{Vectors}>([&](int v) __attribute__((always_inline)) {
          T* const to = c.partial + i * c.partial_row + v * gemm_vector<T>::lanes;
          if (!c.first) sum[i][v] += load_vector<V>(to);
          if (!c.last) store_vector(to, sum[i][v]);
        });
      });
      return !c.last;
    }
  }
  return false;
}

/// One tile: the product of `gemm_rows` rows of A and `Vectors` vectors of columns of B. Only two vectors are packed.
template <int Vectors, class T, class S>
[[gnu::noinline]] void gemm_tile(std::int64_t depth, const gemm_left<T>& a, const gemm_right<T, S>& b,
                                 const gemm_target<T, S>& c) {
  using V = typename gemm_vector<T>::type;
  constexpr int Rows = gemm_rows, lanes = gemm_vector<T>::lanes, width = Vectors * lanes;
  constexpr std::int64_t ahead = 16;  // steps from a prefetch to its use
  if (c.column == 1 && depth >= 8 * ahead) {
    unroll<Rows>([&](int i) __attribute__((always_inline)) { prefetch_row<width, 1>(c.data + i * c.row); });
  }
  // A pointer for every few rows, the others at multiples of the stride from it: twelve would not fit the registers.
  constexpr int groups = Rows / gemm_row_step;
  const T* row[std::size_t{groups}];
  unroll<groups>([&](int g) __attribute__((always_inline)) { row[g] = a.data + g * gemm_row_step * a.row; });
  const std::int64_t a_row = a.row, a_step = step_bytes<T>(a.step), a_ahead = a_step * ahead, b_step = b.step;
  V sum[std::size_t{Rows}][std::size_t{Vectors}] = {};
  const auto add_products = [&](const V(&columns)[std::size_t{Vectors}]) __attribute__((always_inline)) {
    unroll<Rows>([&](int i) __attribute__((always_inline)) {
      const T value = row[i / gemm_row_step][i % gemm_row_step * a_row];
      unroll<Vectors>([&](int v) __attribute__((always_inline)) { sum[i][v] += columns[v] * value; });
    });
    unroll<groups>([&](int g) __attribute__((always_inline)) { row[g] = step_on(row[g], a_step); });
  };
  // A loop for each way to read: a branch within it would take the place of arithmetic.
  const T* from = b.data;
  const auto lean = [&](std::int64_t steps) __attribute__((always_inline)) {
    for (std::int64_t p = 0; p < steps; ++p, from += b_step) {
      V columns[std::size_t{Vectors}];
      unroll<Vectors>([&](int v) __attribute__((always_inline)) { columns[v] = load_vector<V>(from + v * lanes); });
      __builtin_prefetch(step_on(row[0], a_ahead));
      add_products(columns);
    }
  };
  if constexpr (Vectors == 1) {
    lean(depth);
  } else if (b.source != nullptr) {
    if constexpr (gemm_reads<T, S>) {
      const S* source = b.source;
      T* copy = b.copy;
      for (std::int64_t p = 0; p < depth; ++p, source += b_step, copy += width) {
        V columns[std::size_t{Vectors}];
        prefetch_row<width>(source + ahead * b_step);
        unroll<Vectors>([&](int v) __attribute__((always_inline)) {
          columns[v] = load_vector<V>(source + v * lanes);
          store_vector(copy + v * lanes, columns[v]);
        });
        add_products(columns);
      }
    }
  } else if (a.copy != nullptr) {
    T* copy = a.copy;
    for (std::int64_t p = 0; p < depth; ++p, from += b_step, copy += Rows) {
      V columns[std::size_t{Vectors}];
      unroll<Vectors>([&](int v) __attribute__((always_inline)) { columns[v] = load_vector<V>(from + v * lanes); });
      std::memcpy(copy, row[0], Rows * sizeof(T));
      add_products(columns);
    }
  } else if (b.later.from == nullptr) {
    lean(depth);
  } else {
    gemm_later<T, S> later = b.later;
    for (std::int64_t p = 0; p < depth; p += later.every) {
      later_row(later);
      lean(depth - p < later.every ? depth - p : later.every);
    }
  }
  if (keep_sums(sum, c)) return;
  if constexpr (gemm_reads<T, S>) {
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
