// SPDX-License-Identifier: BSL-1.0
// Products larger than what is packed at a time, the sizes of blocks, and who packs where; layouts and small sizes are
// in gemm.test.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <kiln/device/cpu/memory/memory.hpp>
#include <kiln/device/cpu/products/gemm_blocks.hpp>

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
    } const shapes[] = {{4200, 33, 7},    {33, 4200, 7},   {20, 40, 2500},
                        {150, 300, 1000}, {64, 4128, 100}, {1500, 1300, 9}};
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
      const gemm_epilogue done{[](void* object, std::int64_t, std::int64_t r0, std::int64_t r1, std::int64_t c0,
                                  std::int64_t c1) { (*static_cast<decltype(finish)*>(object))(r0, r1, c0, c1); },
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

TEST_CASE("gemm blocks: a product of few tiles a panel takes memory for one panel of each operand") {
  cpu::set_num_threads(1);
  const std::int64_t m = 4 * gemm_rows, n = 128, k = 784;
  const auto a = matrix(m, k), b = matrix(k, n);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  const std::size_t before = cpu::memory_stats().in_use;
  std::size_t most = 0;
  const gemm_epilogue done{[](void* peak, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
                             *static_cast<std::size_t*>(peak) = cpu::memory_stats().in_use;
                           },
                           &most};
  gemm_blocks<float>({m, n, k, a.data(), k, 1, b.data(), n, 1, c.data(), n, 1, false, done}).run();
  const auto panels = static_cast<std::size_t>((gemm_rows + gemm_width<float>)*k) * sizeof(float);
  CHECK(most - before >= panels);
  CHECK(most - before <= panels * 5 / 4);  // the pool's blocks are larger than what was asked for
}

TEST_CASE("gemm blocks: two threads get even shares of a product with short sums") {
  cpu::set_num_threads(2);
  const std::int64_t m = 256, n = 784, k = 64;
  const auto a = matrix(k, m), b = matrix(k, n);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  std::atomic<std::int64_t> tasks{0};
  const gemm_epilogue done{[](void* count, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
                             ++*static_cast<std::atomic<std::int64_t>*>(count);
                           },
                           &tasks};
  gemm_blocks<float>({m, n, k, a.data(), 1, m, b.data(), n, 1, c.data(), n, 1, false, done}).run();
  CHECK(tasks >= 8);
  CHECK(12 * round_up(tasks, 2) <= 13 * tasks);  // of 11 blocks one thread would have six
}

TEST_CASE("gemm blocks: two threads get even shares of a product whose tasks are of unequal size") {
  cpu::set_num_threads(2);
  const std::int64_t m = 1000, n = 80, k = 784;
  const auto a = matrix(m, k), b = matrix(n, k);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  struct tasks {
    std::mutex lock;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> sizes;  // by first row and column
  } all;
  const gemm_epilogue done{
      [](void* object, std::int64_t, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
        auto& tasks_of = *static_cast<tasks*>(object);
        const std::lock_guard lock(tasks_of.lock);
        tasks_of.sizes[{r0, c0}] = (r1 - r0) * (c1 - c0);
      },
      &all};
  gemm_blocks<float>({m, n, k, a.data(), k, 1, b.data(), 1, k, c.data(), n, 1, false, done}).run();
  std::int64_t first = 0, total = 0;
  for (std::size_t number = 0; const auto& [at, size] : all.sizes) {
    if (number++ < all.sizes.size() / 2) first += size;
    total += size;
  }
  CHECK(total == m * n);
  CHECK(50 * std::max(first, total - first) <= 27 * total);
}

TEST_CASE("gemm blocks: sizes come from the caches, in whole tiles, and hold less than the caches do") {
  struct {
    kiln::cpu::cache_sizes caches;
  } const machines[] = {{{32768, 1 << 20, 32 << 20}}, {{49152, 2 << 20, 480 << 20}}, {{32768, 262144, 262144}}};
  for (const auto& machine : machines) {
    for (const std::int64_t size : {4, 8}) {
      const std::int64_t tile_rows = 12, tile_columns = 128 / size;
      const auto blocks = gemm_blocks_for(machine.caches, size, tile_rows, tile_columns);
      CHECK(blocks.rows % tile_rows == 0);
      CHECK(blocks.columns % tile_columns == 0);
      CHECK(blocks.depth >= 128);
      CHECK(blocks.rows * blocks.depth * size <= machine.caches.level2 / 2);
      CHECK(blocks.columns * blocks.depth * size <= std::max<std::int64_t>(machine.caches.level3, 1 << 20));
    }
  }
  const auto small = gemm_blocks_for({32768, 262144, 262144}, 4, 12, 32),
             large = gemm_blocks_for({49152, 2 << 20, 32 << 20}, 4, 12, 32);
  CHECK(small.rows * small.depth < large.rows * large.depth);
}

TEST_CASE("gemm blocks: the number of threads may change between planning a product and running it") {
  const std::int64_t m = 300, n = 200, k = 90;
  const auto a = matrix(m, k), b = matrix(k, n);
  for (const int before : {1, 2, 5}) {
    cpu::set_num_threads(before);
    std::vector<float> c(static_cast<std::size_t>(m * n));
    gemm_blocks<float> product({m, n, k, a.data(), k, 1, b.data(), n, 1, c.data(), n, 1, false, {}});
    cpu::set_num_threads(4);
    product.run();
    int wrong = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < k; ++p) sum += entry(i, p) * entry(p, j);
        wrong += c[static_cast<std::size_t>(i * n + j)] != sum;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("gemm blocks: products within a region stay on their thread") {
  cpu::set_num_threads(3);
  const std::int64_t m = 70, n = 80, k = 90;
  const auto a = matrix(m, k), b = matrix(k, n);
  std::vector<std::vector<float>> c(12, std::vector<float>(static_cast<std::size_t>(m * n)));
  std::atomic<int> elsewhere{0};
  cpu::parallel_for(12, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      struct place {
        int thread;
        std::atomic<int>* elsewhere;
      } here{cpu::thread_index(), &elsewhere};
      const gemm_epilogue done{[](void* object, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
                                 const auto& at = *static_cast<place*>(object);
                                 *at.elsewhere += cpu::thread_index() != at.thread;
                               },
                               &here};
      gemm_blocks<float>(
          {m, n, k, a.data(), k, 1, b.data(), n, 1, c[static_cast<std::size_t>(t)].data(), n, 1, false, done})
          .run();
    }
  });
  CHECK(elsewhere == 0);
  for (const auto& each : c) CHECK(each == c[0]);
  float sum = 0;
  for (std::int64_t p = 0; p < k; ++p) sum += entry(m - 1, p) * entry(p, n - 1);
  CHECK(c[0].back() == sum);
}
