// SPDX-License-Identifier: BSL-1.0
// Products as inner products: every rest of a tile and of a vector, strides of the result, threads.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

#include <kiln/device/cpu/products/gemm_dots.hpp>

using namespace kiln;
using namespace kiln::cpu::detail;

namespace {

template <class T>
std::vector<T> numbers(std::int64_t count, std::int64_t step) {
  std::vector<T> out;
  // Small whole numbers: every sum is exact, so the result has no tolerance.
  for (std::int64_t i = 0; i < count; ++i) out.push_back(static_cast<T>(i * step % 9 - 4));
  return out;
}

template <class T>
int wrong_elements(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t c_row, std::int64_t c_col, bool add) {
  const std::int64_t lda = k + 3, ldb = k + 1;
  const auto a = numbers<T>(m * lda, 5), b = numbers<T>(n * ldb, 7);
  auto c = numbers<T>(m * c_row + n * c_col, 2), expected = c;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      T& to = expected[static_cast<std::size_t>(i * c_row + j * c_col)];
      double sum = add ? static_cast<double>(to) : 0;
      for (std::int64_t p = 0; p < k; ++p)
        sum += static_cast<double>(a[static_cast<std::size_t>(i * lda + p)]) *
               static_cast<double>(b[static_cast<std::size_t>(j * ldb + p)]);
      to = static_cast<T>(sum);
    }
  }
  gemm_dots(gemm_problem<T>{m, n, k, a.data(), lda, 1, b.data(), 1, ldb, c.data(), c_row, c_col, add, {}});
  int wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) wrong += c[i] != expected[i];  // also what lies between the lines
  return wrong;
}

}  // namespace

TEST_CASE("gemm dots: every rest of a tile and of a vector is what a plain loop gives") {
  int wrong = 0;
  for (const int threads : {1, 3}) {
    cpu::set_num_threads(threads);
    for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 11}) {
      for (const std::int64_t n : {1, 2, 3, 4, 9, 300}) {
        for (const std::int64_t k : {1, 7, 16, 33, 200}) {
          const bool add = (m + n + k) % 2 == 0;
          wrong += wrong_elements<float>(m, n, k, n + 2, 1, add) + wrong_elements<float>(m, n, k, 1, m + 1, !add);
          wrong += wrong_elements<double>(m, n, k, n, 1, add);
        }
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("gemm dots: rounded sums are the same bits on any number of threads and near those in double") {
  for (const auto [m, n, k] : {std::array<std::int64_t, 3>{3, 777, 333}, {1, 5003, 39}, {1, 1203, 370}}) {
    auto a = numbers<float>(m * k, 5), b = numbers<float>(n * k, 7);
    for (float& x : a) x /= 3;
    std::vector<float> one;
    for (const int threads : {1, 2, 4}) {
      cpu::set_num_threads(threads);
      std::vector<float> c(static_cast<std::size_t>(m * n));
      gemm_dots(gemm_problem<float>{m, n, k, a.data(), k, 1, b.data(), 1, k, c.data(), n, 1, false, {}});
      if (threads == 1) one = c;
      CHECK(c == one);
    }
    int wrong = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, size = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          const double product = static_cast<double>(a[static_cast<std::size_t>(i * k + p)]) *
                                 static_cast<double>(b[static_cast<std::size_t>(j * k + p)]);
          sum += product;
          size += product < 0 ? -product : product;
        }
        const double off = static_cast<double>(one[static_cast<std::size_t>(i * n + j)]) - sum;
        wrong += !(off <= 1e-6 * size && -off <= 1e-6 * size);
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("gemm dots: they are for a short side, with enough terms for each sum") {
  const float x = 0;
  float c = 0;
  const auto dots = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return gemm_is_dots(gemm_problem<float>{m, n, k, &x, k, 1, &x, 1, k, &c, n, 1, false, {}});
  };
  CHECK(dots(4, 4000, 64));
  CHECK(dots(8, 4000, 300));
  CHECK(dots(8, 8, 100));
  CHECK_FALSE(dots(8, 4000, 64));
  CHECK_FALSE(dots(64, 64, 64));
  CHECK_FALSE(dots(64, 4, 64));  // transposed it is
}
