// SPDX-License-Identifier: BSL-1.0
// `edge_tile` computes a tile of the result of which rows and columns may be missing: at an edge of a large product,
// and anywhere in a small one. It packs nothing and reads over no edge.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm_kernel.hpp>
#include <kiln/device/cpu/products/gemm_vector.hpp>
#include <kiln/device/cpu/simd/partial.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

/// Rows of tiles that are not worth as many as two steps.
inline constexpr int edge_rows = 4;

/// The columns of B that such a tile takes: element (p, j) at data[p * step + j]. The last vector of a row has
/// `missing` elements too few, and may begin that much earlier if it is `movable`.
template <class T>
struct edge_columns {
  const T* data;
  std::int64_t step;
  int missing = 0;
  bool movable = false;
};

/// Tiles of `Rows` rows of A, as many as it takes, and `Vectors` vectors of columns of B, the last of them in part.
/// Rows beyond the last are computed again for nothing. Columns that are missing without being movable take masked
/// loads, or a single vector.
template <int Rows, int Vectors, class T, class S>
[[gnu::noinline]] void edge_tile(std::int64_t depth, const gemm_left<T>& a, const edge_columns<T>& b,
                                 const gemm_target<T, S>& c) {
  using V = typename gemm_vector<T>::type;
  constexpr int N = gemm_vector<T>::lanes, width = Vectors * N;
  constexpr bool masked = gemm_masked<T>, all_masked = hardware::Masked<vector_bytes>;
  constexpr bool masked_store = all_masked && std::is_same_v<T, S>;
  const int again = masked || !b.movable ? 0 : b.missing;
  const T* first = a.data;
  S* to = c.data;
  for (int rows = c.rows; rows > 0; rows -= Rows, first += Rows * a.row, to += Rows * c.row) {
    const T* row[std::size_t{Rows}];
    unroll<Rows>([&](int r) __attribute__((always_inline)) { row[r] = first + std::min(r, rows - 1) * a.row; });
    const std::int64_t a_step = step_bytes<T>(a.step);
    V sum[std::size_t{Rows}][std::size_t{Vectors}] = {};
    const auto add_products = [&](auto load_last) __attribute__((always_inline)) {
      const T* from = b.data;
      for (std::int64_t q = 0, at = 0; q < depth; ++q, from += b.step, at += a_step) {
        V columns[std::size_t{Vectors}];
        unroll<Vectors - 1>([&](int v) __attribute__((always_inline)) {
          columns[v] = loaded_once<Rows>(load_vector<V>(from + v * N));
        });
        columns[Vectors - 1] = loaded_once<Rows>(load_last(from + (Vectors - 1) * N));
        unroll<Rows>([&](int r) __attribute__((always_inline)) {
          const T value = *step_on(row[r], at);
          unroll<Vectors>([&](int v) __attribute__((always_inline)) { sum[r][v] += columns[v] * value; });
        });
      }
    };
    if (!all_masked && again == b.missing)
      add_products([&](const T* from) __attribute__((always_inline)) { return load_vector<V>(from - again); });
    else if constexpr (masked || Vectors == 1)
      add_products([last = N - b.missing](const T* from)
                       __attribute__((always_inline)) { return native_load_partial<T, N>(from, last, T{}); });
    const auto part = [&] {
      gemm_target<T, S> out(c);
      out.data = to;
      out.rows = std::min(rows, Rows);
      if (c.partial != nullptr) out.partial += (c.rows - rows) * c.partial_row;
      return out;
    };
    if constexpr (!std::is_same_v<T, S>) {
      if (keep_sums(sum, part())) continue;
    }
    if constexpr (gemm_reads<T, S>) {
      if (c.column == 1 && (masked_store || c.columns == width)) {
        unroll<Rows>([&](int r) __attribute__((always_inline)) {
          if (r >= rows) return;
          unroll<Vectors>([&](int v) __attribute__((always_inline)) {
            S* const at = to + r * c.row + v * N;
            if constexpr (masked_store) {
              const int some = v + 1 < Vectors ? N : c.columns - v * N;
              if (c.add) sum[r][v] += native_load_partial<T, N>(at, some, T{});
              store_partial(at, lanes<T, N>(sum[r][v]), some);
            } else {
              store_vector(at, c.add ? load_vector<V>(at) + sum[r][v] : sum[r][v]);
            }
          });
        });
        continue;
      }
    }
    // In this order, as the last vector of a row may begin with what belongs to the one before.
    T values[std::size_t{Rows * width + N}];
    unroll<Rows>([&](int r) __attribute__((always_inline)) {
      T* const end = values + r * width + (Vectors - 1) * N;
      store_vector(end, sum[r][Vectors - 1]);
      if (again > 0) store_vector(end, load_vector<V>(static_cast<const T*>(end) + again));
      unroll<Vectors - 1>([&](int v)
                              __attribute__((always_inline)) { store_vector(values + r * width + v * N, sum[r][v]); });
    });
    store_tile(values, width, part());
  }
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
