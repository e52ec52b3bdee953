// SPDX-License-Identifier: BSL-1.0
// Poolings of raw memory: stored results. Plain loops over many forms stand in nn/functional.
#include <kiln/device/cpu/images/pooling.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
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

TEST_CASE("neighbouring windows searched together choose as one alone does: zeros of both signs, nans, every width") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float some[] = {0.0F, -0.0F, 1, nan, -1, 0.0F, -0.0F, -2, 1};
  for (const std::int64_t stride : {1, 2, 3})
    for (std::int64_t width = 4; width < 75; width += 3) {
      CAPTURE(stride);
      CAPTURE(width);
      const std::int64_t places = (width + 2 - 3) / stride + 1;
      const pooling_sizes s{2, {4, width}, {5, places}, {.kernel = {2, 3}, .stride = {1, stride}, .padding = 1}};
      std::vector<float> x(static_cast<std::size_t>(8 * width)), y(static_cast<std::size_t>(10 * places)), dy(y.size()),
          dx(x.size(), 0.25F), expected_y(y.size()), expected_dx(dx);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = some[i * i % 37 % 9];
      for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % 7);
      for (std::int64_t p = 0; p < 2; ++p)
        for (std::int64_t i = 0; i < 5; ++i)
          for (std::int64_t j = 0; j < places; ++j) {
            std::int64_t best = -1;
            for (std::int64_t a = std::max<std::int64_t>(i - 1, 0); a < std::min<std::int64_t>(i + 1, 4); ++a)
              for (std::int64_t b = std::max<std::int64_t>(j * stride - 1, 0);
                   b < std::min<std::int64_t>(j * stride + 2, width); ++b) {
                const std::int64_t at = (p * 4 + a) * width + b;
                const float v = x[static_cast<std::size_t>(at)];
                if (best < 0 || v > x[static_cast<std::size_t>(best)] || std::isnan(v)) best = at;
              }
            const auto out = static_cast<std::size_t>((p * 5 + i) * places + j);
            expected_y[out] = x[static_cast<std::size_t>(best)];
            expected_dx[static_cast<std::size_t>(best)] += dy[out];
          }
      cpu::max_pool(s, x.data(), y.data());
      cpu::max_pool_backward(s, x.data(), y.data(), dy.data(), dx.data(), true);
      bool same = true;
      for (std::size_t i = 0; i < y.size(); ++i)
        same &= std::isnan(y[i]) ? std::isnan(expected_y[i])
                                 : y[i] == expected_y[i] && std::signbit(y[i]) == std::signbit(expected_y[i]);
      CHECK(same);
      CHECK(dx == expected_dx);
    }
}
