// SPDX-License-Identifier: BSL-1.0
// Products as inner products: rows of A and columns of B that are both contiguous, read where they are. What packing
// them would cost is saved, which counts where one of the sides is short.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm_problem.hpp>
#include <kiln/device/cpu/products/gemm_vector.hpp>
#include <kiln/device/cpu/simd/partial.hpp>
#include <kiln/device/cpu/simd/transpose.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

// The sum of all lanes, in every lane: the halves swapped and added, then the quarters, and so on.
template <int D, class V, int... E>
[[gnu::always_inline]] inline V lane_sum(V a, std::integer_sequence<int, E...> all) {
  a += __builtin_shufflevector(a, a, (E ^ D)...);
  if constexpr (D > 1)
    return lane_sum<D / 2>(a, all);
  else
    return a;
}

// Sums of the lanes of four vectors, to[i] of a[i]: two at a time while there are several, each in half of the lanes.
template <class T, class V>
[[gnu::always_inline]] inline void sum_four(V (&a)[4], T* to) {
  constexpr int lanes = gemm_vector<T>::lanes;
  constexpr std::make_integer_sequence<int, lanes> all{};
  const auto join = [all](V & x, V & y, auto blocks) __attribute__((always_inline)) {
    swap_blocks<blocks()>(x, y, all);
    x += y;
  };
  join(a[0], a[1], std::integral_constant<int, lanes / 2>{});
  join(a[2], a[3], std::integral_constant<int, lanes / 2>{});
  if constexpr (lanes > 2) {
    join(a[0], a[2], std::integral_constant<int, lanes / 4>{});
    if constexpr (lanes > 4) a[0] = lane_sum<lanes / 8>(a[0], all);
    unroll<4>([&](int i) __attribute__((always_inline)) { to[i] = a[0][i % 2 * (lanes / 2) + i / 2 * (lanes / 4)]; });
  } else {
    unroll<4>([&](int i) __attribute__((always_inline)) { to[i] = a[i / 2 * 2][i % 2]; });
  }
}

/// The inner products of `Rows` rows of A from row i on and four columns of B from column j on; those beyond the last
/// are computed again for nothing.
template <int Rows, class T>
[[gnu::noinline]] void dot_tile(const gemm_problem<T>& p, std::int64_t i, std::int64_t j) {
  using V = typename gemm_vector<T>::type;
  constexpr int lanes = gemm_vector<T>::lanes;
  const T *row[std::size_t{Rows}], *column[4];
  unroll<Rows>([&](int r) __attribute__((always_inline)) { row[r] = p.a + std::min(i + r, p.m - 1) * p.a_row; });
  unroll<4>([&](int c) __attribute__((always_inline)) { column[c] = p.b + std::min(j + c, p.n - 1) * p.b_col; });
  const std::int64_t columns = std::min<std::int64_t>(4, p.n - j);
  T total[std::size_t{Rows}][4] = {};
  const auto put = [&]() __attribute__((always_inline)) {
    const std::int64_t rows = std::min<std::int64_t>(Rows, p.m - i);
    T* line = p.c + i * p.c_row + j * p.c_col;
    for (std::int64_t r = 0; r < rows; ++r, line += p.c_row) {
      T* to = line;
      for (std::int64_t c = 0; c < columns; ++c, to += p.c_col) *to = p.add ? *to + total[r][c] : total[r][c];
    }
  };
  // Where loads cannot be masked, less than a vector is read one by one.
  if constexpr (!gemm_masked<T>)
    if (p.k < lanes) {
      for (std::int64_t q = 0; q < p.k; ++q)
        unroll<Rows>([&](int r) __attribute__((always_inline)) {
          unroll<4>([&](int c) __attribute__((always_inline)) { total[r][c] += row[r][q] * column[c][q]; });
        });
      return put();
    }
  V sum[std::size_t{Rows}][4] = {};
  const auto add = [&](auto at) __attribute__((always_inline)) {
    V values[4];
    unroll<4>([&](int c) __attribute__((always_inline)) { values[c] = loaded_once<Rows>(at(column[c])); });
    unroll<Rows>([&](int r) __attribute__((always_inline)) {
      const V value = loaded_once<4>(at(row[r]));
      unroll<4>([&](int c) __attribute__((always_inline)) { sum[r][c] += value * values[c]; });
    });
  };
  std::int64_t q = 0;
  for (; q + lanes <= p.k; q += lanes) {
    add([q](const T* from) __attribute__((always_inline)) { return load_vector<V>(from + q); });
  }
  const int rest = static_cast<int>(p.k - q);
  if (rest > 0 && (gemm_masked<T> || q == 0)) {
    add([ q, rest ](const T* from)
            __attribute__((always_inline)) { return native_load_partial<T, lanes>(from + q, rest, T{}); });
  } else if (rest > 0) {
    if constexpr (!gemm_masked<T>)
      add([ last = p.k - lanes, rest ](const T* from)
              __attribute__((always_inline)) { return last_lanes(load_vector<V>(from + last), rest); });
  }
  unroll<Rows>([&](int r) __attribute__((always_inline)) { sum_four(sum[r], total[r]); });
  put();
}

// Sums of the lanes of as many vectors as each has, that of a[i] in lane i of the first.
template <int D, class V, std::size_t Lanes>
[[gnu::always_inline]] inline void sum_each(V (&a)[Lanes]) {
  unroll<D>([&](int i) __attribute__((always_inline)) {
    swap_blocks<D>(a[i], a[i + D], std::make_integer_sequence<int, int{Lanes}>{});
    a[i] += a[i + D];
  });
  if constexpr (D > 1) sum_each<D / 2>(a);
}

/// The inner products of the only row of A and columns of B from j to `end`, at most as many as a vector has lanes.
template <class T>
[[gnu::noinline]] void dot_row(const gemm_problem<T>& p, std::int64_t j, std::int64_t end) {
  using V = typename gemm_vector<T>::type;
  constexpr int lanes = gemm_vector<T>::lanes;
  using L = kiln::cpu::lanes<T, lanes>;
  const int columns = static_cast<int>(std::min<std::int64_t>(lanes, end - j));
  const T *x = p.a, *first = p.b + j * p.b_col;
  V sum[std::size_t{lanes}] = {};
  const auto add = [&](auto load) __attribute__((always_inline)) {
    const V value = load(x);
    unroll<lanes>([&](int c) __attribute__((always_inline)) {
      const V column = load(first + (c < columns ? c : 0) * p.b_col);
      // Said to be one operation: a compiler that saw the product with the first column in several of them would round
      // that one by itself, and a column's bits would depend on where it stands.
      if constexpr (std::is_floating_point_v<T>)
        sum[c] = fma(L(value), L(column), L(sum[c])).v;
      else
        sum[c] += value * column;
    });
  };
  const T* const stop = p.a + (p.k - p.k % lanes);
  for (; x < stop; x += lanes, first += lanes) {
    add([](const T* from) __attribute__((always_inline)) { return load_vector<V>(from); });
  }
  if (const int rest = static_cast<int>(p.k % lanes))
    add([rest](const T* from)
            __attribute__((always_inline)) { return native_load_partial<T, lanes>(from, rest, T{}); });
  sum_each<lanes / 2>(sum);
  T* const to = p.c + j;
  const L before = p.add ? load_partial_or<lanes>(static_cast<const T*>(to), columns, T(0)) : L(T(0));
  store_partial(to, before + L(sum[0]), columns);
}

/// Whether it is a row by several columns. Longer ones are read faster a few at a time.
template <class T>
bool is_dot_row(const gemm_problem<T>& p) {
  constexpr int lanes = gemm_vector<T>::lanes;
  return gemm_masked<T> && p.m == 1 && p.c_col == 1 && p.n > lanes / 4 && p.k <= 24 * lanes;
}

/// Columns `begin` to `end` of such a product: a few columns of B, which stay in cache, with all rows of A.
template <class T>
void dot_columns(const gemm_problem<T>& p, std::int64_t begin, std::int64_t end) {
  if constexpr (gemm_masked<T>) {
    if (is_dot_row(p)) {
      for (std::int64_t j = begin; j < end; j += gemm_vector<T>::lanes) dot_row(p, j, end);
      return;
    }
  }
  for (std::int64_t j = begin; j < end; j += 4) {
    std::int64_t i = 0;
    for (; p.m - i > 2; i += gemm_row_step) dot_tile<gemm_row_step>(p, i, j);
    if (p.m - i == 2)
      dot_tile<2>(p, i, j);
    else if (i < p.m)
      dot_tile<1>(p, i, j);
  }
}

/// Whether rows of A and columns of B are contiguous.
template <class T>
bool gemm_has_dots(const gemm_problem<T>& p) {
  return p.a_col == 1 && p.b_row == 1;
}
/// Whether a product had better be done by gemm_dots: where to pack B would take as long as to use it, and sums are
/// long enough to make up for adding up lanes in the end.
template <class T>
bool gemm_is_dots(const gemm_problem<T>& p) {
  if (!gemm_has_dots(p) || p.m > p.n) return false;
  return p.m <= 4 || (p.m <= 8 && (p.k >= 256 || p.m * p.n <= 64));
}

/// The product of a problem that gemm_has_dots.
template <class T>
void gemm_dots(const gemm_problem<T>& p) {
  const std::int64_t grain = 4 * (1 + 65536 / (4 * p.m * p.k));
  parallel_for(p.n, grain, [&](std::int64_t begin, std::int64_t end) {
    dot_columns(p, begin, end);
    p.finish(0, p.m, begin, end);
  });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
