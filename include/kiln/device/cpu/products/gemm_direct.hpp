// SPDX-License-Identifier: BSL-1.0
// Products of operands that are read where they are, none of them packed: tiles of the result take rows of A value by
// value and lines of B as they lie, while B is in a cache or near.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/device/cpu/processor/caches.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/compute_copy.hpp>
#include <kiln/device/cpu/products/gemm_problem.hpp>
#include <kiln/device/cpu/products/gemm_vector.hpp>
#include <kiln/device/cpu/simd/partial.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA::detail {

// Rows and vectors of columns of most tiles: 32 registers hold 8 x 3 with a row of B, 16 hold 6 x 2.
inline constexpr int direct_height = gemm_row_step == 4 ? 8 : 6, direct_vectors = gemm_row_step == 4 ? 3 : 2;
inline constexpr int direct_least = gemm_row_step == 4 ? 1 : 2;  // rows of the lowest
inline constexpr std::int64_t direct_far = 8192;  // elements of a result that the first-level cache does not hold

/// A tile of the result, `Rows` rows of A times `Vectors` vectors of columns of B, all read where they are. If it has
/// fewer rows, the last is computed again for nothing. `load` and `store` move the last vector of a row.
template <int Rows, int Vectors, class T, class S, class Load, class Store>
[[gnu::always_inline]] inline void direct_tile(const gemm_problem<T>& p, int rows, const T* a, const T* b, S* c,
                                               Load load_last, Store store_last) {
  using V = typename gemm_vector<T>::type;
  constexpr int lanes = gemm_vector<T>::lanes, half = Rows / 2;
  constexpr bool whole = Rows > gemm_row_step;
  const std::int64_t depth = p.k, a_row = p.a_row, a_step = step_bytes<T>(p.a_col), b_step = p.b_row, c_row = p.c_row;
  if constexpr (whole) {
    // Short sums wait for the lines that they are written to, unless those are in the first-level cache.
    if (depth <= 32 && p.m * p.n > direct_far)
      unroll<Rows>([&](int r) __attribute__((always_inline)) { prefetch_row<Vectors * lanes, 1>(c + r * c_row); });
  }
  const auto load = [&](int v, const auto* from) __attribute__((always_inline)) {
    return v + 1 < Vectors ? load_vector<V>(from + v * lanes) : load_last(from + v * lanes);
  };
  V sum[std::size_t{Rows}][std::size_t{Vectors}] = {};
  const auto add = [&](auto value) __attribute__((always_inline)) {
    V columns[std::size_t{Vectors}];
    unroll<Vectors>([&](int v) __attribute__((always_inline)) { columns[v] = loaded_once<Rows>(load(v, b)); });
    b += b_step;
    unroll<Rows>([&](int r) __attribute__((always_inline)) {
      const T x = value(r);
      unroll<Vectors>([&](int v) __attribute__((always_inline)) { sum[r][v] += columns[v] * x; });
    });
  };
  if constexpr (whole) {
    // Two pointers, the other rows at multiples of the stride from them: one for each would not fit the registers.
    const T* row[] = {a, a + half * a_row};
    for (std::int64_t q = 0; q < depth; ++q) {
      add([&](int r) __attribute__((always_inline)) { return row[r / half][r % half * a_row]; });
      row[0] = step_on(row[0], a_step);
      row[1] = step_on(row[1], a_step);
    }
  } else {
    const T* row[std::size_t{Rows}];
    unroll<Rows>([&](int r) __attribute__((always_inline)) { row[r] = a + std::min(r, rows - 1) * a_row; });
    for (std::int64_t q = 0, at = 0; q < depth; ++q, at += a_step)
      add([&](int r) __attribute__((always_inline)) { return *step_on(row[r], at); });
  }
  const bool more = p.add;
  unroll<Rows>([&](int r) __attribute__((always_inline)) {
    if (!whole && r >= rows) return;
    if (more) unroll<Vectors>([&](int v) __attribute__((always_inline)) { sum[r][v] += load(v, c); });
    unroll<Vectors - 1>([&](int v) __attribute__((always_inline)) { store_vector(c + v * lanes, sum[r][v]); });
    store_last(c + (Vectors - 1) * lanes, sum[r][Vectors - 1]);
    c += c_row;
  });
}

// Stores part of a vector: a function of its own where that takes several moves.
template <class V, class S>
[[gnu::noinline]] void store_rest(S* to, V value, int count) {
  using T = std::remove_cvref_t<decltype(value[0])>;
  store_partial(to, lanes<T, gemm_vector<T>::lanes>(value), count);
}

/// `count` elements of `rows` rows of the result, `Rows` if those are more than `gemm_row_step`: rows of A from `a` on
/// times as many columns of B.
template <int Rows, class T, class S>
[[gnu::noinline]] void direct_rows(const gemm_problem<T>& p, int rows, const T* a, const T* b, S* c,
                                   std::int64_t count) {
  using V = typename gemm_vector<T>::type;
  constexpr int lanes = gemm_vector<T>::lanes;
  constexpr std::integral_constant<int, 1> one;
  constexpr std::integral_constant<int, 2> two;
  constexpr std::integral_constant<int, direct_vectors> most;
  const auto tile = [&](auto vectors, auto load, auto store) __attribute__((always_inline)) {
    direct_tile<Rows, vectors()>(p, rows, a, b, c, load, store);
    count -= vectors() * lanes;
    b += vectors() * lanes;
    c += vectors() * lanes;
  };
  // Tiles of which the last vector may be a part.
  const auto part = [&](auto vectors) __attribute__((always_inline)) {
    const int rest = static_cast<int>(std::min<std::int64_t>(count - (vectors() - 1) * lanes, lanes));
    tile(
        vectors,
        [rest](const auto* from)
            __attribute__((always_inline)) { return load_partial_or<gemm_vector<T>::lanes>(from, rest, {}).v; },
        [rest](S * to, V value) __attribute__((always_inline)) {
          if constexpr (hardware::Masked<vector_bytes>)
            store_partial(to, kiln::cpu::lanes<T, gemm_vector<T>::lanes>(value), rest);
          else
            store_rest(to, value, rest);
        });
  };
  if constexpr (hardware::Masked<vector_bytes>) {
    // Masks cost nothing here, so that one loop does for whole tiles too. Four vectors are two tiles of two, not three
    // vectors and a lone one.
    while (count > 0) {
      if (count > 4 * lanes || (count > 2 * lanes && count <= 3 * lanes))
        part(most);
      else if (count > lanes)
        part(two);
      else
        part(one);
    }
  } else {
    const auto whole = [&](auto vectors) __attribute__((always_inline)) {
      tile(
          vectors, [](const auto* from) __attribute__((always_inline)) { return load_vector<V>(from); },
          [](S * to, V value) __attribute__((always_inline)) { store_vector(to, value); });
    };
    while (count >= most() * lanes) whole(most);
    if constexpr (gemm_masked<T>) {
      if (count > lanes) return part(two);
    } else {
      while (count >= lanes) whole(one);
    }
    if (count > 0) part(one);
  }
}

/// How a product is shared among the threads: its longer side, as the other operand is read by all of them, in several
/// parts for each thread if those are not too small, and no thread has a twenty-fourth more than its part, else in one.
/// A B that is turned for it is so by columns, which each thread turns for itself, if there are enough for all.
struct direct_shares {
  bool by_rows = true;
  std::int64_t grain;
  std::int64_t threads = available_threads();

  [[gnu::cold]] direct_shares(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t tall, std::int64_t lanes,
                              bool turned = false)
      : grain(m) {
    constexpr std::int64_t least = std::int64_t{1} << 17;  // multiplications: less is not worth another thread
    const std::int64_t most = m * n * k / least;
    if (threads == 1 || most < 2) return;
    by_rows = m >= n && !(turned && m < 4 * n && n >= 6 * lanes * threads);
    const std::int64_t unit = by_rows ? tall : lanes, units = divide_up(by_rows ? m : n, unit);
    const auto longest = [&](std::int64_t part) { return divide_up(divide_up(units, part), threads) * part; };
    const std::int64_t whole = divide_up(units, std::min(most, threads));
    const std::int64_t smallest =
        std::max<std::int64_t>(divide_up(units, std::min(most, 8 * threads)), by_rows ? 4 : 6);
    std::int64_t part = whole;
    for (std::int64_t i = smallest; i < whole && part == whole; ++i) {
      if (24 * threads * longest(i) <= 25 * units) part = i;
    }
    grain = part * unit;
  }
};

// How far apart rows are made that are copied: whole vectors fit, and they do not all share a set of the first-level
// cache.
template <class T>
std::int64_t turned_row(std::int64_t n) {
  constexpr std::int64_t lanes = gemm_vector<T>::lanes, size = sizeof(T);
  const std::int64_t row = round_up(n, lanes);
  return row * size % 1024 == 0 ? row + lanes : row;
}

// Columns of B from column j on, as many as a vector has lanes, made parts of rows: to[q * row + i] of column j + i.
template <class T, class S>
void turn_columns(const gemm_problem<S>& p, std::int64_t j, T* to, std::int64_t row) {
  constexpr int lanes = gemm_vector<T>::lanes;
  const int valid = static_cast<int>(std::min<std::int64_t>(lanes, p.n - j));
  const S* from = p.b + j * p.b_col;
  std::int64_t q = 0;
  for (; q + lanes <= p.k; q += lanes, from += lanes) transpose_square(from, p.b_col, valid, to + q * row, row);
  if (q == p.k) return;
  const int count = static_cast<int>(p.k - q);
  typename gemm_vector<T>::type square[std::size_t{lanes}];
  unroll<lanes>([&](int i) __attribute__((always_inline)) {
    square[i] = load_partial_or<lanes>(from + (i < valid ? i : 0) * p.b_col, count, {}).v;
  });
  transpose_registers(square);
  for (int i = 0; i < count; ++i) store_vector(to + (q + i) * row, square[i]);
}

/// The bytes that an operand may have which is read again and again from the second-level cache, beside what else is
/// there: with a larger one, the third is farther away.
inline std::int64_t direct_near() {
  return std::min(caches().level2, std::int64_t{1} << 20);
}

/// Whether a product had better be done by gemm_direct.
template <class T>
bool gemm_is_direct(const gemm_problem<T>& p) {
  constexpr std::int64_t lanes = gemm_vector<T>::lanes, size = sizeof(T), page = 4096;
  constexpr bool wide = direct_vectors > 2;
  if (p.c_col != 1 || p.n == 1) return false;
  // Few rows have too few sums to hide their latency.
  if (p.m == 1 ? p.b_col != 1 || p.k > 5 : !wide && p.m < direct_height && p.k > 8) return false;
  // B is in the second-level cache, with room for A, or worth the time to make its rows contiguous.
  const std::int64_t b_size = p.k * p.n;
  if (b_size * size > (wide ? direct_near() : caches().level2)) return false;
  const bool worth = wide && p.m >= 192 && p.b_row == 1;
  if (p.b_col != 1 && !worth && b_size > std::min<std::int64_t>(256 * p.m, 16384)) return false;
  // Columns of A that are read again and again are not on more pages than a processor has at hand, 72 and more.
  if (p.a_col != 1 && p.n > 6 * lanes && p.k * std::min(p.a_col * size, page) > 64 * page) return false;
  // Not too many lines that are read one after the other meet in one set of a cache, and are not single ones for long.
  const std::int64_t set = p.m < 192 ? page : page / 2;
  const bool meet = (p.b_col == 1 && p.b_row * size % set == 0) || (p.a_col != 1 && p.a_col * size % page == 0);
  if (meet && p.k > (wide ? 256 : 32)) return false;
  if (p.k > (wide ? 2048 : 512)) return false;
  if (!gemm_masked<T> && p.n % lanes != 0 && (p.k > 8 || p.n < 4 * lanes)) return false;
  // Vectors are filled, unless sums are so short that it would cost more to turn the product round. A lone vector
  // beside tiles of two takes as long as two.
  const std::int64_t empty = round_up(p.n, wide ? lanes : 2 * lanes) - round_up(p.n, gemm_row_step);
  return empty * p.k <= (wide && p.a_row != 1 ? 60 : 30) * p.n;
}

/// Rows `row` to `row_end` of the result, whose element (0, 0) is at `c`, by columns from `col` to `col_end`.
template <class T, class S>
[[gnu::noinline]] void direct_part(const gemm_problem<T>& p, S* c, std::int64_t row, std::int64_t row_end,
                                   std::int64_t col, std::int64_t col_end) {
  const auto rows = [&](auto most) {
    const int number = static_cast<int>(std::min<std::int64_t>(most(), row_end - row));
    direct_rows<most()>(p, number, p.a + row * p.a_row, p.b + col, c + row * p.c_row + col, col_end - col);
    row += number;
  };
  while (row_end - row >= direct_height) rows(std::integral_constant<int, direct_height>{});
  while (row_end - row > 2) rows(std::integral_constant<int, gemm_row_step>{});
  if (row_end - row == 2) rows(std::integral_constant<int, 2>{});
  if (row < row_end) rows(std::integral_constant<int, direct_least>{});
}

/// The tiles of a product whose rows of B are contiguous; those of C, of half types perhaps, are from `c` on.
/// `prepare(begin, end, slot)` is called for each share before it is begun and says where the operands are.
template <class T, class S, class Prepare>
void direct_product(const gemm_problem<T>& p, S* c, const direct_shares& shares, Prepare prepare) {
  constexpr std::int64_t tall = direct_height, lanes = gemm_vector<T>::lanes, block = direct_vectors * lanes;
  // Columns of which B takes half of a first-level cache, if one tile does not take more.
  const std::int64_t wide = std::max<std::int64_t>(std::int64_t{16384 / sizeof(T)} / p.k / block, 1) * block;
  const auto part = [&](const gemm_problem<T>& q, std::int64_t row, std::int64_t row_end, std::int64_t begin,
                        std::int64_t end) {
    for (std::int64_t col = begin, col_end = begin; col < end; col = col_end) {
      col_end = end - col <= wide + lanes ? end : col + wide;
      direct_part(q, c, row, row_end, col, col_end);
    }
    p.finish(row, row_end, begin, end);
  };
  // Rows of which an epilogue finds the result in the second-level cache, and every block of columns those of A.
  const std::int64_t kept = caches().level2 / (4 * p.k * std::int64_t{sizeof(T)});
  const std::int64_t high = tall * (1 + std::min((std::int64_t{1} << 16) / p.n, kept) / tall);
  const bool by_rows = shares.by_rows;
  parallel_for(by_rows ? p.m : p.n, shares.grain, static_cast<int>(shares.threads),
               [&](std::int64_t begin, std::int64_t end, int slot) {
                 const gemm_problem<T> q = prepare(begin, end, slot);
                 const std::int64_t last = by_rows ? end : p.m;
                 for (std::int64_t row = by_rows ? begin : 0; row < last; row += high)
                   part(q, row, std::min(row + high, last), by_rows ? 0 : begin, by_rows ? p.n : end);
               });
}

/// The product of a problem that gemm_is_direct.
template <class T>
void gemm_direct(gemm_problem<T> p) {
  constexpr std::int64_t lanes = gemm_vector<T>::lanes;
  const bool copied = p.b_col != 1, turned = copied && p.b_row == 1 && p.k >= (gemm_masked<T> ? 3 : lanes);
  const std::int64_t row = turned_row<T>(p.n);
  const gemm_scratch<T> copy(copied ? p.k * row : 0);
  const direct_shares shares(p.m, p.n, p.k, direct_height, lanes, turned);
  const gemm_problem<T> from(p);
  if (turned) {
    p.b = copy.data();
    p.b_row = row;
    p.b_col = 1;
  } else if (copied) {
    p.move_b(copy.data(), row, 1);
  }
  const auto turn = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; j += lanes) turn_columns(from, j, copy.data() + j, row);
  };
  if (turned && shares.by_rows) parallel_for(p.n, lanes * (1 + 16384 / (lanes * p.k)), turn);
  direct_product(p, p.c, shares, [&](std::int64_t begin, std::int64_t end, int) {
    if (turned && !shares.by_rows) turn(begin, end);
    return p;
  });
}

/// Whether a product of half types is one of floats once they are copied: both sides are worth the copy, and where no
/// operand has to be turned, writing the copies does not take longer than to pack a panel at a time.
template <class S>
bool gemm_is_direct_half(const gemm_problem<S>& p) {
  constexpr std::int64_t size = sizeof(float);
  const std::int64_t near = direct_near();
  return direct_vectors > 2 && p.c_col == 1 && p.m >= 64 && p.n >= 64 && p.k >= 16 && p.k <= 2048 &&
         (p.b_col == 1 ? 2 * (p.m + p.n) : p.n) * p.k * size <= near && (p.a_col == 1 || p.a_row == 1) &&
         (p.b_col == 1 || p.b_row == 1);
}

/// The product of a problem that gemm_is_direct_half: elements become floats once. What is shared by rows or by columns
/// each thread copies for itself; the other operand too where its share is long enough to make up for that, else all
/// threads together, and then part of it comes from another core.
template <class S>
void gemm_direct_half(const gemm_problem<S>& p) {
  constexpr std::int64_t lanes = gemm_vector<float>::lanes;
  const direct_shares shares(p.m, p.n, p.k, direct_height, lanes);
  const bool a_rows = p.a_col == 1, by_rows = shares.by_rows, own = (by_rows ? p.m : p.n) >= 64 * shares.threads;
  const std::int64_t a_pitch = turned_row<float>(a_rows ? p.k : p.m), b_pitch = turned_row<float>(p.n);
  const std::int64_t a_size = (a_rows ? p.m : p.k) * a_pitch, b_size = p.k * b_pitch;
  const std::int64_t apart = own ? by_rows ? b_size : a_size : 0;  // from one thread's copy to the next
  const gemm_scratch<float> memory(a_size + b_size + (shares.threads - 1) * apart);
  const gemm_scratch<bool> copied(shares.threads);
  std::fill_n(copied.data(), shares.threads, false);
  float *const b = memory.data(), *const a = b + b_size + (by_rows ? (shares.threads - 1) * apart : 0);
  const auto copy_a = [&](std::int64_t begin, std::int64_t end, float* to) {
    if (a_rows) {
      for (std::int64_t i = begin; i < end; ++i) copy_to_floats(p.a + i * p.a_row, to + i * a_pitch, p.k);
    } else {
      for (std::int64_t q = 0; q < p.k; ++q)
        copy_to_floats(p.a + q * p.a_col + begin, to + q * a_pitch + begin, end - begin);
    }
  };
  const auto copy_b = [&](std::int64_t begin, std::int64_t end, float* to) {
    if (p.b_col == 1) {
      for (std::int64_t q = 0; q < p.k; ++q)
        copy_to_floats(p.b + q * p.b_row + begin, to + q * b_pitch + begin, end - begin);
    } else {
      for (std::int64_t j = begin; j < end; j += lanes) turn_columns(p, j, to + j, b_pitch);
    }
  };
  const auto copy_other = [&](std::int64_t begin, std::int64_t end, int slot) {
    by_rows ? copy_b(begin, end, b + slot * apart) : copy_a(begin, end, a + slot * apart);
  };
  const std::int64_t other = by_rows ? p.n : p.m;
  if (!own)
    parallel_for(other, lanes * (1 + 16384 / (lanes * p.k)),
                 [&](std::int64_t begin, std::int64_t end) { copy_other(begin, end, 0); });
  const gemm_problem<float> floats{
      p.m, p.n,   p.k,    a,        a_rows ? a_pitch : 1, a_rows ? 1 : a_pitch, b, b_pitch, 1, nullptr, p.c_row,
      1,   p.add, p.done, p.swapped};
  direct_product(floats, p.c, shares, [&](std::int64_t begin, std::int64_t end, int slot) {
    if (own && !std::exchange(copied.data()[slot], true)) copy_other(0, other, slot);
    by_rows ? copy_a(begin, end, a) : copy_b(begin, end, b);
    gemm_problem<float> q(floats);
    (by_rows ? q.b : q.a) += slot * apart;
    return q;
  });
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA::detail
