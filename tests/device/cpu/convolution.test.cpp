// SPDX-License-Identifier: BSL-1.0
// How a convolution is cut into pieces; what the pieces add up to is compared with plain loops in nn/functional.
#include <kiln/device/cpu/convolution.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace kiln;

TEST_CASE("pieces cover the rows of the result once, and fit the cache") {
  for (const std::int64_t height : {1, 7, 56, 1000})
    for (const std::int64_t channels : {1, 64, 512}) {
      const convolution_sizes s{1, channels, 8, 1, {height + 2, 30}, {height, 28}, {.kernel = 3}};
      const cpu::detail::convolution_pieces pieces(s, 4);
      std::int64_t next = 0;
      for (std::int64_t i = 0; i < pieces.count; ++i) {
        const index_range rows = pieces.range(s, i);
        CHECK(rows.begin == next);
        CHECK(rows.size() > 0);
        CHECK(rows.size() <= pieces.rows);
        next = rows.end;
      }
      CHECK(next == height);
      const std::int64_t bytes = pieces.columns * s.patch() * 4;
      CHECK((bytes <= pieces.cache_bytes || pieces.columns <= pieces.fewest_columns));
    }
}

TEST_CASE("sums over whole numbers are exact in pieces, on one thread and more") {
  // All ones: an element of the result counts the elements under the window.
  const convolution_sizes s{12, 4, 2, 1, {60, 50}, {58, 48}, {.kernel = 3}};
  const std::vector<double> x(12 * 4 * 3000, 1), w(2 * 36, 1), bias{1, 2};
  const int before = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    std::vector<double> y(12 * 2 * 58 * 48), dw(w.size(), 5), dx(x.size(), 5), db(2, 5);
    cpu::convolve(s, x.data(), w.data(), bias.data(), y.data());
    CHECK(y.front() == 37);
    CHECK(y.back() == 38);
    const std::vector<double> dy(y.size(), 1);
    cpu::convolve_backward_weight(s, x.data(), dy.data(), dw.data(), true);
    CHECK(dw == std::vector<double>(w.size(), 5 + 12 * 58 * 48));
    cpu::convolve_backward_bias(s, dy.data(), db.data(), true);
    CHECK(db == std::vector<double>(2, 5 + 12 * 58 * 48));
    cpu::convolve_backward_input(s, dy.data(), w.data(), dx.data(), true);
    CHECK(dx[0] == 5 + 2);                 // one window, two kernels
    CHECK(dx[30 * 50 + 25] == 5 + 2 * 9);  // nine of them
    cpu::convolve_backward_input(s, dy.data(), w.data(), dx.data(), false);
    CHECK(dx[0] == 2);
  }
  set_num_threads(before);
}
