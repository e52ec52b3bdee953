// SPDX-License-Identifier: BSL-1.0
// Products of operands that are read where they are: layouts, rests of rows and columns, threads, and who does them.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include <kiln/device/cpu/products/gemm_direct.hpp>

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
  gemm_direct(gemm_problem<T>{m, n, k, a.data(), a_by_rows ? k : 1, a_by_rows ? 1 : m, b.data(), b_by_rows ? n : 1,
                              b_by_rows ? 1 : k, c.data(), ldc, 1, add, done});
  int wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const bool within = static_cast<std::int64_t>(i) % ldc < n;
    wrong += c[i] != expected[i] || finished[i] != (within ? 1 : 0);  // also what lies between the lines
  }
  return wrong;
}

}  // namespace

TEST_CASE("gemm direct: every layout is what a plain loop gives, and finished once everywhere") {
  int wrong = 0;
  for (const int threads : {1, 3}) {
    kiln::cpu::set_num_threads(threads);
    for (const std::int64_t m : {1, 2, 3, 5, 7, 8, 14, 40}) {
      for (const std::int64_t n : {1, 15, 17, 40, 64, 65, 150, 1000}) {
        for (const std::int64_t k : {1, 2, 5, 8, 17}) {
          for (int kind = 0; kind < 4; ++kind) {
            wrong += wrong_elements<float>(m, n, k, kind % 2 == 0, kind / 2 == 0, (m + k) % 2 == 0);
            wrong += wrong_elements<double>(m, n, k, kind % 2 == 0, kind / 2 == 0, (m + k) % 2 == 1);
          }
        }
      }
    }
    for (int kind = 0; kind < 4; ++kind) {
      wrong += wrong_elements<float>(150, 30, 120, kind % 2 == 0, kind / 2 == 0, true);
      wrong += wrong_elements<float>(200, 140, 270, kind % 2 == 0, kind / 2 == 0, true);
      wrong += wrong_elements<float>(330, 300, 20, kind % 2 == 0, kind / 2 == 0, true);
      wrong += wrong_elements<float>(30, 310, 100, kind % 2 == 0, kind / 2 == 0, false);
      wrong += wrong_elements<double>(9, 5000, 3, kind % 2 == 0, kind / 2 == 0, true);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("gemm direct: half types are computed in float and rounded once", S, kiln::half, kiln::bfloat16) {
  int wrong = 0;
  for (const int threads : {1, 3}) {
    kiln::cpu::set_num_threads(threads);
    for (const auto [m, n, k] :
         {std::array<std::int64_t, 3>{64, 75, 33}, {131, 64, 16}, {70, 300, 101}, {400, 80, 33}}) {
      for (int kind = 0; kind < 8; ++kind) {
        const bool a_by_rows = kind % 2 == 0, b_by_rows = kind / 2 % 2 == 0, add = kind / 4 == 1;
        const auto a = numbers<float>(m * k, 1), b = numbers<float>(k * n, 4), before = numbers<float>(m * n, 2);
        const std::vector<S> left(a.begin(), a.end()), right(b.begin(), b.end());
        std::vector<S> c(before.begin(), before.end());
        gemm_direct_half(gemm_problem<S>{m,
                                         n,
                                         k,
                                         left.data(),
                                         a_by_rows ? k : 1,
                                         a_by_rows ? 1 : m,
                                         right.data(),
                                         b_by_rows ? n : 1,
                                         b_by_rows ? 1 : k,
                                         c.data(),
                                         n,
                                         1,
                                         add,
                                         {}});
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < n; ++j) {
            float sum = add ? before[static_cast<std::size_t>(i * n + j)] : 0;  // whole numbers: exact
            for (std::int64_t q = 0; q < k; ++q)
              sum += a[static_cast<std::size_t>(a_by_rows ? i * k + q : q * m + i)] *
                     b[static_cast<std::size_t>(b_by_rows ? q * n + j : j * k + q)];
            wrong += c[static_cast<std::size_t>(i * n + j)] != static_cast<S>(sum);
          }
        }
      }
    }
  }
  CHECK(wrong == 0);
}

// A part of a matrix that one thread copies ends where another's begins.
TEST_CASE_TEMPLATE("gemm direct: elements become floats up to the last and no further", S, kiln::half, kiln::bfloat16) {
  int wrong = 0;
  for (std::int64_t count = 0; count <= 70; ++count) {
    const auto values = numbers<float>(100, 3);
    const std::vector<S> from(values.begin(), values.end());
    std::vector<float> to(100, 77.0F);
    copy_to_floats(from.data(), to.data(), count);
    for (std::size_t i = 0; i < to.size(); ++i)
      wrong += to[i] != (static_cast<std::int64_t>(i) < count ? values[i] : 77.0F);
  }
  CHECK(wrong == 0);
}

TEST_CASE("gemm direct: rounded sums are the same bits on any number of threads") {
  for (const auto [m, n, k] :
       {std::array<std::int64_t, 3>{203, 90, 75}, {21, 1003, 110}, {9, 777, 40}, {300, 310, 75}}) {
    auto a = numbers<float>(m * k, 3), b = numbers<float>(k * n, 5);
    for (float& x : a) x /= 3;
    for (const bool b_by_rows : {true, false}) {
      std::vector<float> one;
      for (const int threads : {1, 2, 3, 7}) {
        kiln::cpu::set_num_threads(threads);
        std::vector<float> c(static_cast<std::size_t>(m * n));
        gemm_direct(gemm_problem<float>{
            m, n, k, a.data(), k, 1, b.data(), b_by_rows ? n : 1, b_by_rows ? 1 : k, c.data(), n, 1, false, {}});
        if (threads == 1) one = c;
        CHECK(c == one);
      }
    }
  }
}

TEST_CASE("gemm direct: the longer side is shared, in even parts") {
  kiln::cpu::set_num_threads(2);
  const auto parts = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    const direct_shares shares(m, n, k, 8, 16);
    return std::array<std::int64_t, 2>{shares.by_rows ? m : n, shares.grain};
  };
  CHECK(parts(784, 256, 64) == std::array<std::int64_t, 2>{784, 56});   // 14 parts of 7 tiles
  CHECK(parts(64, 256, 784) == std::array<std::int64_t, 2>{256, 128});  // B is larger than A
  CHECK_FALSE(direct_shares(256, 256, 256, 8, 16, true).by_rows);       // each turns its own columns of B
  CHECK(direct_shares(256, 100, 256, 8, 16, true).by_rows);             // of which there are too few
  CHECK(parts(20, 30, 40) == std::array<std::int64_t, 2>{20, 20});      // too little for two
  kiln::cpu::set_num_threads(1);
  CHECK(parts(784, 256, 64) == std::array<std::int64_t, 2>{784, 784});
}

TEST_CASE("gemm direct: results by rows, of operands that lie well in cache") {
  const float x = 0;
  float c = 0;
  const auto direct = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t column = 1) {
    return gemm_is_direct(gemm_problem<float>{m, n, k, &x, k, 1, &x, n, 1, &c, n, column, false, {}});
  };
  CHECK(direct(100, 496, 1));
  CHECK(direct(100, 496, 5));
  CHECK(direct(128, 128, 128));
  CHECK(direct(1, 496, 5));
  CHECK_FALSE(direct(1, 496, 100));        // a row
  CHECK_FALSE(direct(100, 1, 100));        // a column
  CHECK_FALSE(direct(100, 496, 1, 100));   // turned round it is
  CHECK_FALSE(direct(100, 2, 200));        // hardly any of a vector
  CHECK_FALSE(direct(4000, 40000, 1000));  // B has no room in the second-level cache
  CHECK_FALSE(direct(100, 1024, 300));     // its lines would share one set of the first
  const auto turned = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return gemm_is_direct(gemm_problem<float>{m, n, k, &x, k, 1, &x, 1, k, &c, n, 1, false, {}});
  };
  CHECK(turned(100, 64, 16));
  CHECK_FALSE(turned(4, 512, 100));
  const auto by_columns = [&](std::int64_t n, std::int64_t k, std::int64_t apart) {
    return gemm_is_direct(gemm_problem<float>{200, n, k, &x, 1, apart, &x, n, 1, &c, n, 1, false, {}});
  };
  CHECK(by_columns(200, 60, 2000));
  CHECK_FALSE(by_columns(200, 80, 2000));                      // each column of A on another page
  CHECK(by_columns(2 * gemm_vector<float>::lanes, 80, 2000));  // which is read once
}

TEST_CASE("gemm direct: half types are copied for two long sides") {
  const kiln::half x{};
  kiln::half c{};
  const auto direct = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t step) {
    return gemm_is_direct_half(gemm_problem<kiln::half>{m, n, k, &x, k * step, step, &x, n, 1, &c, n, 1, false, {}});
  };
  CHECK(direct(128, 128, 128, 1) == (direct_vectors > 2));
  CHECK_FALSE(direct(400, 500, 784, 1));  // copies of both would leave the second-level cache
  CHECK_FALSE(direct(8, 256, 784, 1));
  CHECK_FALSE(direct(64, 8, 784, 1));
  CHECK_FALSE(direct(64, 4096, 4096, 1));
  CHECK_FALSE(direct(128, 128, 128, 2));  // no lines
}
