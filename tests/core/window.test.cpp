// SPDX-License-Identifier: BSL-1.0
// Sizes of windows against counting.
#include <kiln/core/window.hpp>

#include <doctest/doctest.h>

#include <sstream>

using namespace kiln;

TEST_CASE("a pair is one number or two") {
  const pair2d both = 3, each{4, 5};
  CHECK(both == pair2d(3, 3));
  CHECK(each.height == 4);
  CHECK(each.area() == 20);
  std::ostringstream out;
  out << each;
  CHECK(out.str() == "(4, 5)");
  CHECK(window2d{.kernel = {3, 2}, .dilation = {1, 4}}.reach() == pair2d(3, 5));
}

TEST_CASE("places inside are those that counting finds") {
  for (std::int64_t at = -9; at < 9; ++at)
    for (std::int64_t stride = 1; stride < 5; ++stride)
      for (std::int64_t places = 0; places < 6; ++places)
        for (std::int64_t size = 0; size < 7; ++size) {
          std::int64_t first = places, n = 0;
          for (std::int64_t i = places - 1; i >= 0; --i)
            if (const std::int64_t p = at + i * stride; p >= 0 && p < size) first = i, ++n;
          const index_range found = places_inside(at, stride, places, size);
          REQUIRE(found.size() == n);
          REQUIRE(found.begin >= 0);
          REQUIRE(found.end <= places);
          if (n > 0) REQUIRE(found.begin == first);
        }
}

TEST_CASE("sizes that follow from those of a convolution") {
  const convolution_sizes s{2, 6, 8, 2, {5, 5}, {3, 3}, {.kernel = 3}};
  CHECK(s.group_inputs() == 3);
  CHECK(s.group_outputs() == 4);
  CHECK(s.patch() == 27);
  CHECK(s.weights() == 8 * 27);
  CHECK_FALSE(s.pointwise());
  CHECK(convolution_sizes{1, 1, 1, 1, 4, 4, {.kernel = 1, .dilation = 7}}.pointwise());
  CHECK_FALSE(convolution_sizes{1, 1, 1, 1, 4, 2, {.kernel = 1, .stride = 2}}.pointwise());
  CHECK_FALSE(convolution_sizes{1, 1, 1, 1, 4, {4, 6}, {.kernel = 1, .padding = {0, 1}}}.pointwise());
}

TEST_CASE("divisors of averages") {
  // Windows of 3 that move by 2 over 4 elements with a padding of 1: they begin at -1, 1 and (rounded up) 3.
  const pooling_sizes s{1, {4, 1}, {3, 1}, {.kernel = {3, 1}, .stride = {2, 1}, .padding = {1, 0}}};
  CHECK(average_divisor{}.of(s, {-1, 0}) == 3);
  CHECK(average_divisor{}.of(s, {1, 0}) == 3);
  CHECK(average_divisor{}.of(s, {3, 0}) == 2);
  CHECK(average_divisor{.padding = false}.of(s, {-1, 0}) == 2);
  CHECK(average_divisor{.padding = false}.of(s, {3, 0}) == 1);
  CHECK(average_divisor{.fixed = -5}.of(s, {3, 0}) == -5);
}
