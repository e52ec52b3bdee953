// SPDX-License-Identifier: BSL-1.0
// Products that are read where they are: every rest of a tile, layouts of both operands and of the result.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include <kiln/device/cpu/products/gemm_small.hpp>

#include "numbers.hpp"

using namespace kiln::cpu::detail;
using product_test::whole_numbers;

namespace {

// Operand and result are row-major or column-major with room between their lines, or have no stride of 1.
struct strides {
  std::int64_t row, column;
};
strides laid_out(std::int64_t rows, std::int64_t columns, unsigned kind) {
  if (kind == 0) return {columns + 2, 1};
  if (kind == 1) return {1, rows + 2};
  return {2 * columns + 1, 2};
}

template <class T>
int wrong_elements(std::int64_t m, std::int64_t n, std::int64_t k, unsigned kind_a, unsigned kind_b, unsigned kind_c,
                   bool add) {
  const strides sa = laid_out(m, k, kind_a), sb = laid_out(k, n, kind_b), sc = laid_out(m, n, kind_c);
  const auto a = whole_numbers<T>(m * sa.row + k * sa.column), b = whole_numbers<T>(k * sb.row + n * sb.column);
  auto c = whole_numbers<T>(m * sc.row + n * sc.column), expected = c;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      T& to = expected[static_cast<std::size_t>(i * sc.row + j * sc.column)];
      double sum = add ? static_cast<double>(to) : 0;
      for (std::int64_t p = 0; p < k; ++p)
        sum += static_cast<double>(a[static_cast<std::size_t>(i * sa.row + p * sa.column)]) *
               static_cast<double>(b[static_cast<std::size_t>(p * sb.row + j * sb.column)]);
      to = static_cast<T>(sum);
    }
  }
  gemm_small(gemm_problem<T>{
      m, n, k, a.data(), sa.row, sa.column, b.data(), sb.row, sb.column, c.data(), sc.row, sc.column, add, {}});
  int wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) wrong += c[i] != expected[i];  // also what lies between the lines
  return wrong;
}

}  // namespace

TEST_CASE("gemm small: every layout and every rest of a tile is what a plain loop gives") {
  int wrong = 0;
  for (const std::int64_t m : {1, 2, 3, 7, 8, 9, 21}) {
    for (const std::int64_t n : {1, 3, 8, 15, 16, 17, 31, 33, 70}) {
      for (const std::int64_t k : {1, 2, 9, 40}) {
        for (unsigned kinds = 0; kinds < 27; ++kinds) {
          const bool add = (kinds + static_cast<unsigned>(k)) % 2 == 0;
          wrong += wrong_elements<float>(m, n, k, kinds % 3, kinds / 3 % 3, kinds / 9, add);
          wrong += wrong_elements<double>(m, n, k, kinds % 3, kinds / 3 % 3, kinds / 9, add);
          wrong += wrong_elements<std::int32_t>(m, n, k, kinds % 3, kinds / 3 % 3, kinds / 9, add);
        }
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("gemm small: products in the first-level cache are small, and of few rows; those of one row only if tiny") {
  const float x = 0;
  float c = 0;
  const auto small = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return gemm_is_small(gemm_problem<float>{m, n, k, &x, k, 1, &x, n, 1, &c, n, 1, false, {}});
  };
  CHECK(small(4, 4, 4));
  CHECK(small(9, 20, 20));
  CHECK_FALSE(small(20, 48, 30));  // read where they are
  CHECK_FALSE(small(1, 300, 40));
  CHECK_FALSE(small(200, 200, 200));
  CHECK_FALSE(small(2, 5000, 3));
  CHECK(small(2, 5000, 300));
  const auto columns_by_columns = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return gemm_is_small(gemm_problem<float>{m, n, k, &x, 1, m, &x, 1, k, &c, n, 1, false, {}});
  };
  CHECK(columns_by_columns(20, 14, 2));
  CHECK_FALSE(columns_by_columns(5000, 24, 60));
}

TEST_CASE("gemm small: few rows are the same bits on any number of threads, and finished once everywhere") {
  const std::int64_t n = 3001, k = 130;
  for (const std::int64_t m : {2, 3, 8}) {
    const auto a = whole_numbers<float>(m * k), b = whole_numbers<float>(k * n);
    std::vector<float> one;
    for (const int threads : {1, 2, 5}) {
      kiln::cpu::set_num_threads(threads);
      std::vector<float> c(static_cast<std::size_t>(m * n));
      std::vector<std::atomic<int>> finished(static_cast<std::size_t>(n));
      const gemm_epilogue done{
          [](void* object, std::int64_t, std::int64_t, std::int64_t rows, std::int64_t j, std::int64_t end) {
            auto& times = *static_cast<std::vector<std::atomic<int>>*>(object);
            for (; j < end; ++j) times[static_cast<std::size_t>(j)] += static_cast<int>(rows);
          },
          &finished};
      std::vector<float> thirds(a);
      for (float& x : thirds) x /= 3;  // sums that are rounded
      gemm_small(gemm_problem<float>{m, n, k, thirds.data(), k, 1, b.data(), n, 1, c.data(), n, 1, false, done});
      if (threads == 1) one = c;
      CHECK(c == one);
      int wrong = 0;
      for (const auto& times : finished) wrong += times != m;
      CHECK(wrong == 0);
    }
    const auto at = static_cast<std::size_t>((m - 1) * n + n - 1);
    double sum = 0;
    for (std::int64_t p = 0; p < k; ++p)
      sum += static_cast<double>(a[static_cast<std::size_t>((m - 1) * k + p)]) / 3 *
             static_cast<double>(b[static_cast<std::size_t>(p * n + n - 1)]);
    CHECK(one[at] == doctest::Approx(sum).epsilon(1e-4));
  }
}

// Under the sanitizer: no offset to a null pointer, which an empty operand may be.
TEST_CASE("gemm_small: operands without elements may be null pointers") {
  std::vector<float> c(5 * 40, 3.0f);
  gemm_small(gemm_problem<float>{5, 40, 0, nullptr, 0, 1, nullptr, 40, 1, c.data(), 40, 1, false, {}});
  CHECK(c == std::vector<float>(5 * 40, 0.0f));
}
