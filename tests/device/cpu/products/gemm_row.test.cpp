// SPDX-License-Identifier: BSL-1.0
// Products with one row: inner products and sums of rows, with every tail, strides, and accumulation.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include <kiln/device/cpu/products/gemm_row.hpp>

using namespace kiln;
using namespace kiln::cpu::detail;

TEST_CASE("gemm row: a row times a matrix of either layout is what a plain loop gives") {
  for (const int threads : {1, 2}) {
    cpu::set_num_threads(threads);
    for (const std::int64_t n : {1, 3, 10, 16, 17, 100, 300, 2000}) {
      for (const std::int64_t k : {1, 5, 16, 39, 200, 1000}) {
        for (const bool b_by_rows : {true, false}) {
          for (const std::int64_t stride : {1, 3}) {
            std::vector<float> a(static_cast<std::size_t>(k * stride)), b(static_cast<std::size_t>(k * n));
            std::vector<float> c(static_cast<std::size_t>(n * stride), 0.5F), done(c.size());
            for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(static_cast<int>(i * 5 % 7) - 3);
            for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(static_cast<int>(i * 3 % 11) - 5);
            const bool add = k % 2 == 0;
            auto finish = [&](std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
              for (std::int64_t j = c0; j < c1; ++j) done[static_cast<std::size_t>(j)] += static_cast<float>(r1 - r0);
            };
            const gemm_epilogue each{[](void* object, std::int64_t, std::int64_t r0, std::int64_t r1, std::int64_t c0,
                                        std::int64_t c1) { (*static_cast<decltype(finish)*>(object))(r0, r1, c0, c1); },
                                     &finish};
            gemm_row(gemm_problem<float>{1, n, k, a.data(), 0, stride, b.data(), b_by_rows ? n : 1, b_by_rows ? 1 : k,
                                         c.data(), 0, stride, add, each});
            int wrong = 0;
            for (std::int64_t j = 0; j < n; ++j) {
              float sum = add ? 0.5F : 0.0F;  // whole numbers and a half: exact in any order
              for (std::int64_t p = 0; p < k; ++p) {
                sum += a[static_cast<std::size_t>(p * stride)] *
                       b[static_cast<std::size_t>(b_by_rows ? p * n + j : p + j * k)];
              }
              wrong += c[static_cast<std::size_t>(j * stride)] != sum || done[static_cast<std::size_t>(j)] != 1.0F;
              if (stride > 1) wrong += c[static_cast<std::size_t>(j * stride + 1)] != 0.5F;
            }
            CHECK(wrong == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("gemm row: rounded sums are the same bits on any number of threads and near those in double") {
  for (const std::int64_t k : {6, 115, 200}) {
    const std::int64_t n = 5003;
    std::vector<float> x(static_cast<std::size_t>(k)), b(static_cast<std::size_t>(k * n)), one;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 5 % 9) / 3 - 1;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 7 % 11) / 3 - 2;
    for (const int threads : {1, 2, 4}) {
      cpu::set_num_threads(threads);
      std::vector<float> c(static_cast<std::size_t>(n));
      gemm_row(gemm_problem<float>{1, n, k, x.data(), 0, 1, b.data(), n, 1, c.data(), 0, 1, false, {}});
      if (threads == 1) one = c;
      CHECK(c == one);
    }
    int wrong = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t q = 0; q < k; ++q) {
        const double product = static_cast<double>(x[static_cast<std::size_t>(q)]) *
                               static_cast<double>(b[static_cast<std::size_t>(q * n + j)]);
        sum += product;
        size += std::abs(product);
      }
      wrong += !(std::abs(static_cast<double>(one[static_cast<std::size_t>(j)]) - sum) <= 1e-6 * size);
    }
    CHECK(wrong == 0);
  }
}
