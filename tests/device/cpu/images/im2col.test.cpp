// SPDX-License-Identifier: BSL-1.0
// im2col against a plain loop over the definition; col2im as its transpose.
#include <kiln/device/cpu/images/im2col.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace kiln;

namespace {

convolution_sizes sizes_of(std::int64_t channels, pair2d image, const window2d& w) {
  auto places = [](std::int64_t size, std::int64_t reach, std::int64_t stride, std::int64_t padding) {
    return (size + 2 * padding - reach) / stride + 1;
  };
  return {1,
          channels,
          1,
          1,
          image,
          {places(image.height, w.reach().height, w.stride.height, w.padding.height),
           places(image.width, w.reach().width, w.stride.width, w.padding.width)},
          w};
}

// Calls f(place in the matrix, place in the image or -1).
template <class F>
void by_definition(const convolution_sizes& s, index_range rows, F f) {
  std::int64_t at = 0;
  const window2d& w = s.window;
  for (std::int64_t c = 0; c < s.channels; ++c)
    for (std::int64_t p = 0; p < w.kernel.height; ++p)
      for (std::int64_t q = 0; q < w.kernel.width; ++q)
        for (std::int64_t i = rows.begin; i < rows.end; ++i)
          for (std::int64_t j = 0; j < s.places.width; ++j) {
            const std::int64_t row = i * w.stride.height + p * w.dilation.height - w.padding.height;
            const std::int64_t col = j * w.stride.width + q * w.dilation.width - w.padding.width;
            const bool inside = row >= 0 && row < s.image.height && col >= 0 && col < s.image.width;
            f(at++, inside ? (c * s.image.height + row) * s.image.width + col : -1);
          }
}

template <class T>
void compare(const convolution_sizes& s, index_range rows) {
  auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<T> image(at(s.channels * s.image.area()));
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<T>(i + 1);
  const std::size_t reserved = at(s.patch() * rows.size() * s.places.width);
  std::vector<T> matrix(reserved, T(-7)), expected(reserved, T(0));
  cpu::im2col(s, image.data(), s.channels, rows, matrix.data());
  std::vector<T> sums(image.size(), T(3)), added = sums;
  by_definition(s, rows, [&](std::int64_t from, std::int64_t to) {
    if (to >= 0) {
      expected[at(from)] = image[at(to)];
      sums[at(to)] += static_cast<T>(from % 11);
    }
  });
  CHECK(matrix == expected);
  for (std::size_t i = 0; i < reserved; ++i) matrix[i] = static_cast<T>(i % 11);
  cpu::col2im(s, matrix.data(), s.channels, rows, added.data());
  CHECK(added == sums);
}

}  // namespace

TEST_CASE_TEMPLATE("im2col and col2im move what the definition says", T, float, double) {
  for (const window2d& w : {window2d{.kernel = 3}, window2d{.kernel = 3, .padding = 1},
                            window2d{.kernel = {2, 3}, .stride = {2, 1}, .padding = {0, 4}},
                            window2d{.kernel = {3, 2}, .stride = {1, 3}, .padding = {3, 2}, .dilation = {2, 5}},
                            window2d{.kernel = 1, .stride = 9, .padding = 8}}) {
    const convolution_sizes s = sizes_of(2, {7, 40}, w);
    compare<T>(s, {0, s.places.height});
    compare<T>(s, {s.places.height / 2, s.places.height});
    compare<T>(s, {1, 1});
  }
}
