// SPDX-License-Identifier: BSL-1.0
// How a convolution is cut into pieces; what the pieces add up to is compared with plain loops in nn/functional.
#include <kiln/device/cpu/images/convolution.hpp>

#include <doctest/doctest.h>

#include <vector>

#include <support/bits.hpp>

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

TEST_CASE("gradients have the same bits on any number of threads") {
  using test::bit_patterns;
  const convolution_sizes many{8, 16, 32, 1, {40, 40}, {38, 38}, {.kernel = 3}};
  const convolution_sizes one{1, 48, 16, 1, {40, 40}, {38, 38}, {.kernel = 3}};
  for (const convolution_sizes& s : {many, one}) {
    const std::int64_t images = s.batch * s.channels, results = s.batch * s.out_channels;
    test::draw d(1);
    const auto x = d.contiguous<float>({images, 40, 40}), dy = d.contiguous<float>({results, 38, 38});
    const auto w = d.contiguous<float>({s.out_channels, s.channels, 3, 3});
    CHECK(bit_patterns([&] {
            Tensor<float> dw(new_tensor(dtype::float32, w.sizes()));
            cpu::convolve_backward_weight(s, x.data(), dy.data(), dw.data(), false);
            return dw;
          }) == 1);
    CHECK(bit_patterns([&] {
            Tensor<float> dx(new_tensor(dtype::float32, x.sizes()));
            cpu::convolve_backward_input(s, dy.data(), w.data(), dx.data(), false);
            return dx;
          }) == 1);
    CHECK(bit_patterns([&] {
            Tensor<float> db(new_tensor(dtype::float32, {s.out_channels}));
            cpu::convolve_backward_bias(s, dy.data(), db.data(), false);
            return db;
          }) == 1);
  }
}
