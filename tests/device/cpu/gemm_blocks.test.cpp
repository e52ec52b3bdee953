// SPDX-License-Identifier: BSL-1.0
// Products larger than what is packed at a time, and what they compute in; layouts and small sizes are in
// gemm.test.cpp.
#include <doctest/doctest.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <vector>

#include <kiln/device/cpu/gemm_blocks.hpp>

using namespace kiln;
using namespace kiln::cpu::detail;

namespace {

// Small whole numbers: every sum is exact in float, so the result has no tolerance.
float entry(std::int64_t i, std::int64_t j) {
  return static_cast<float>((i * 7 + j * 3) % 5 - 2);
}

std::vector<float> matrix(std::int64_t rows, std::int64_t cols) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) out.push_back(entry(i, j));
  }
  return out;
}

}  // namespace

TEST_CASE("gemm blocks: products longer, taller and wider than a block are exact, and finished once everywhere") {
  for (const int threads : {1, 2}) {
    cpu::set_num_threads(threads);
    struct {
      std::int64_t m, n, k;
    } const shapes[] = {{4200, 33, 7}, {33, 4200, 7}, {20, 40, 2500}, {150, 300, 1000}, {64, 4128, 100}};
    for (const auto& shape : shapes) {
      const std::int64_t m = shape.m, n = shape.n, k = shape.k;
      const auto a = matrix(m, k), b = matrix(k, n);
      std::vector<float> c(static_cast<std::size_t>(m * n), 1.0F);
      std::vector<std::atomic<int>> finished(c.size());
      auto finish = [&](std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
        for (std::int64_t i = r0; i < r1; ++i) {
          for (std::int64_t j = c0; j < c1; ++j) ++finished[static_cast<std::size_t>(i * n + j)];
        }
      };
      const gemm_done done{[](void* object, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
                             (*static_cast<decltype(finish)*>(object))(r0, r1, c0, c1);
                           },
                           &finish};
      gemm_blocks<float>({m, n, k, a.data(), k, 1, b.data(), n, 1, c.data(), n, 1, true, done}).run();
      // Both factors repeat every five steps, so five sums along the product stand for all.
      int wrong = 0;
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          float sum = 1;
          for (std::int64_t p = 0; p < 5; ++p) {
            sum += entry(i, p) * entry(p, j) * static_cast<float>((k - p + 4) / 5);
          }
          const auto at = static_cast<std::size_t>(i * n + j);
          wrong += c[at] != sum || finished[at] != 1;
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("gemm blocks: half types compute in float, integers without signs, others in themselves") {
  CHECK(std::same_as<gemm_compute<half>, float>);
  CHECK(std::same_as<gemm_compute<bfloat16>, float>);
  CHECK(std::same_as<gemm_compute<std::int8_t>, std::uint32_t>);
  CHECK(std::same_as<gemm_compute<std::int64_t>, std::uint64_t>);
  CHECK(std::same_as<gemm_compute<double>, double>);
}
