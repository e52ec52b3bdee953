// SPDX-License-Identifier: BSL-1.0
// Poolings of raw memory: stored results. Plain loops over many forms stand in nn/functional.
#include <kiln/device/cpu/images/pooling.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace kiln;

TEST_CASE("stored results of poolings and their gradients") {
  // 1 5 2 / 7 3 7 under windows of 2 that move by 1.
  const pooling_sizes s{1, {2, 3}, {1, 2}, {.kernel = 2}};
  const std::vector<float> x{1, 5, 2, 7, 3, 7}, dy{10, 100};
  std::vector<float> y(2), dx(6, 1);
  cpu::max_pool(s, x.data(), y.data());
  CHECK(y == std::vector<float>{7, 7});
  cpu::max_pool_backward(s, x.data(), y.data(), dy.data(), dx.data(), true);
  CHECK(dx == std::vector<float>{1, 1, 1, 11, 1, 101});
  cpu::average_pool(s, {}, x.data(), y.data());
  CHECK(y == std::vector<float>{4, 4.25F});
  cpu::average_pool_backward(s, {.fixed = 10}, dy.data(), dx.data(), false);
  CHECK(dx == std::vector<float>{1, 11, 10, 1, 11, 10});
}

TEST_CASE("half sums of overlapping windows are rounded once") {
  // 2048 + 1 is no half, 2048 + 1 + 1 is one.
  const pooling_sizes s{1, {1, 3}, {1, 3}, {.kernel = {1, 3}, .padding = {0, 1}}};
  const std::vector<half> dy{half(2048.0F), half(1.0F), half(1.0F)};
  std::vector<half> dx(3, half(0.0F));
  cpu::average_pool_backward(s, {.fixed = 1}, dy.data(), dx.data(), false);
  CHECK(static_cast<float>(dx[1]) == 2050);
  cpu::average_pool_backward(s, {.fixed = 1}, dy.data(), dx.data(), true);
  CHECK(static_cast<float>(dx[1]) == 4100);
}
