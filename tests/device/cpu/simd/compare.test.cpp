// SPDX-License-Identifier: BSL-1.0
// Comparisons, masks and where, against the scalar operators.
#include "lane_values.hpp"

#include <doctest/doctest.h>

#define LANE_TYPES                                                                                                  \
  float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, \
      std::uint64_t

using namespace simd_test;

TEST_CASE_TEMPLATE("compare: every comparison gives the mask of the scalar ones", T, LANE_TYPES, bool) {
  every_width([]<int N>() {
    int wrong = 0;
    for (std::uint64_t round = 0; round < 20; ++round) {
      const auto a = some_values<T, N>(2 * round);
      auto b = some_values<T, N>(2 * round + 1);
      for (std::size_t i = 0; i < b.size(); i += 3) b[i] = a[i];
      if constexpr (std::is_floating_point_v<T>) b[1] = std::numeric_limits<T>::quiet_NaN();
      const auto x = as_lanes<T, N>(a), y = as_lanes<T, N>(b);
      wrong += differences(x == y, [&](std::size_t i) { return a[i] == b[i]; });
      wrong += differences(x != y, [&](std::size_t i) { return a[i] != b[i]; });
      wrong += differences(x < y, [&](std::size_t i) { return a[i] < b[i]; });
      wrong += differences(x <= y, [&](std::size_t i) { return a[i] <= b[i]; });
      wrong += differences(x > y, [&](std::size_t i) { return a[i] > b[i]; });
      wrong += differences(x >= y, [&](std::size_t i) { return a[i] >= b[i]; });
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE_TEMPLATE("where: takes each lane from the side its mask says", T, LANE_TYPES, bool) {
  every_width([]<int N>() {
    const auto a = some_values<T, N>(1), b = some_values<T, N>(2);
    const auto m = some_values<bool, N>(3);
    const auto got = where(as_lanes<bool, N>(m), as_lanes<T, N>(a), as_lanes<T, N>(b));
    CHECK(differences(got, [&](std::size_t i) { return m[i] ? a[i] : b[i]; }) == 0);
  });
}

TEST_CASE("masks: & | ^ ! are the logical operations") {
  every_width([]<int N>() {
    const auto a = some_values<bool, N>(1), b = some_values<bool, N>(2);
    const auto x = as_lanes<bool, N>(a), y = as_lanes<bool, N>(b);
    CHECK(differences(x & y, [&](std::size_t i) { return a[i] && b[i]; }) == 0);
    CHECK(differences(x | y, [&](std::size_t i) { return a[i] || b[i]; }) == 0);
    CHECK(differences(x ^ y, [&](std::size_t i) { return a[i] != b[i]; }) == 0);
    CHECK(differences(!x, [&](std::size_t i) { return !a[i]; }) == 0);
    CHECK(differences(minimum(x, y), [&](std::size_t i) { return a[i] && b[i]; }) == 0);
    CHECK(differences(maximum(x, y), [&](std::size_t i) { return a[i] || b[i]; }) == 0);
  });
}

TEST_CASE("masks: any and all see every lane") {
  every_width([]<int N>() {
    CHECK_FALSE(any(lanes<bool, N>(false)));
    CHECK(all(lanes<bool, N>(true)));
    for (std::size_t i = 0; i < static_cast<std::size_t>(N); ++i) {
      values<bool, N> one{};
      one[i] = true;
      CHECK(any(as_lanes<bool, N>(one)));
      CHECK_FALSE(all(!as_lanes<bool, N>(one)));
      CHECK(kiln::cpu::reduce_any(as_lanes<bool, N>(one)));
      CHECK_FALSE(kiln::cpu::reduce_all(as_lanes<bool, N>(one)));
    }
  });
}

#undef LANE_TYPES
