// SPDX-License-Identifier: BSL-1.0
// Products whose sums have few terms: layouts of the operands, rests of rows and columns, threads, and who does them.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include <kiln/device/cpu/products/gemm_short.hpp>

using namespace kiln::cpu::detail;

namespace {

// Small whole numbers: every sum is exact, so the result has no tolerance.
template <class T>
std::vector<T> numbers(std::int64_t count, int seed) {
  std::vector<T> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(static_cast<T>((i * 7 + seed) % 11 - 5));
  return out;
}

template <class T>
int wrong_elements(std::int64_t m, std::int64_t n, std::int64_t k, bool a_by_rows, bool b_by_rows, bool add) {
  const std::int64_t ldc = n + 3;
  const auto a = numbers<T>(m * k, 1), b = numbers<T>(k * n, 4);
  auto c = numbers<T>(m * ldc, 2), expected = c;
  std::vector<std::atomic<int>> finished(c.size());
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      T& to = expected[static_cast<std::size_t>(i * ldc + j)];
      if (!add) to = 0;
      for (std::int64_t q = 0; q < k; ++q)
        to += a[static_cast<std::size_t>(a_by_rows ? i * k + q : q * m + i)] *
              b[static_cast<std::size_t>(b_by_rows ? q * n + j : j * k + q)];
    }
  }
  auto mark = [&](std::int64_t row, std::int64_t row_end, std::int64_t col, std::int64_t col_end) {
    for (std::int64_t i = row; i < row_end; ++i)
      for (std::int64_t j = col; j < col_end; ++j) ++finished[static_cast<std::size_t>(i * ldc + j)];
  };
  using marker = decltype(mark);
  const gemm_epilogue done{[](void* object, std::int64_t, std::int64_t row, std::int64_t row_end, std::int64_t col,
                              std::int64_t col_end) { (*static_cast<marker*>(object))(row, row_end, col, col_end); },
                           &mark};
  gemm_short(gemm_problem<T>{m, n, k, a.data(), a_by_rows ? k : 1, a_by_rows ? 1 : m, b.data(), b_by_rows ? n : 1,
                             b_by_rows ? 1 : k, c.data(), ldc, 1, add, done});
  int wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const bool within = static_cast<std::int64_t>(i) % ldc < n;
    wrong += c[i] != expected[i] || finished[i] != (within ? 1 : 0);  // also what lies between the lines
  }
  return wrong;
}

}  // namespace

TEST_CASE("gemm short: every layout is what a plain loop gives, and finished once everywhere") {
  int wrong = 0;
  for (const int threads : {1, 2}) {
    kiln::cpu::set_num_threads(threads);
    for (const std::int64_t m : {1, 2, 5, 40}) {
      for (const std::int64_t n : {1, 15, 64, 65, 150, 5000}) {
        for (const std::int64_t k : {1, 2, 5, 8}) {
          for (int kind = 0; kind < 4; ++kind) {
            wrong += wrong_elements<float>(m, n, k, kind % 2 == 0, kind / 2 == 0, (m + k) % 2 == 0);
            wrong += wrong_elements<double>(m, n, k, kind % 2 == 0, kind / 2 == 0, (m + k) % 2 == 1);
          }
        }
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("gemm short: few terms and long rows") {
  const float x = 0;
  float c = 0;
  const auto is_short = [&](std::int64_t n, std::int64_t k, std::int64_t column) {
    return gemm_is_short(gemm_problem<float>{100, n, k, &x, k, 1, &x, n, 1, &c, n, column, false, {}});
  };
  CHECK(is_short(500, 1, 1));
  CHECK(is_short(500, 5, 1));
  CHECK_FALSE(is_short(500, 9, 1));
  CHECK_FALSE(is_short(3, 1, 1));
  CHECK_FALSE(is_short(500, 1, 100));
}
