// SPDX-License-Identifier: BSL-1.0
// Halves of lanes and masks, taken apart and joined, and integers of other widths.
#include "lane_values.hpp"

#include <doctest/doctest.h>

#define LANE_TYPES                                                                                                  \
  float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, \
      std::uint64_t

using namespace simd_test;

TEST_CASE_TEMPLATE("halves: joining the halves gives the whole", T, LANE_TYPES, bool) {
  every_width([]<int N>() {
    if constexpr (N >= 4) {
      const auto a = some_values<T, N>(5);
      const auto x = as_lanes<T, N>(a);
      CHECK(differences(low_half(x), [&](std::size_t i) { return a[i]; }) == 0);
      CHECK(differences(high_half(x), [&](std::size_t i) { return a[i + N / 2]; }) == 0);
      CHECK(differences(join(low_half(x), high_half(x)), [&](std::size_t i) { return a[i]; }) == 0);
    }
  });
}

TEST_CASE("halves: integers change their width by any factor, signed and unsigned") {
  every_width([]<int N>() {
    if constexpr (kiln::cpu::fits<std::int64_t, N>) {
      const auto a = some_values<std::int8_t, N>(1);
      const auto wide = kiln::cpu::resized<std::int64_t, std::int8_t, N>(as_lanes<std::int8_t, N>(a).v);
      CHECK(differences(lanes<std::int64_t, N>(wide), [&](std::size_t i) { return std::int64_t{a[i]}; }) == 0);
      const lanes<std::int8_t, N> back(kiln::cpu::resized<std::int8_t, std::int64_t, N>(wide));
      CHECK(differences(back, [&](std::size_t i) { return a[i]; }) == 0);
    }
    if constexpr (kiln::cpu::fits<std::uint32_t, N>) {
      const auto a = some_values<std::uint16_t, N>(2);
      const lanes<std::uint32_t, N> wide(
          kiln::cpu::resized<std::uint32_t, std::uint16_t, N>(as_lanes<std::uint16_t, N>(a).v));
      CHECK(differences(wide, [&](std::size_t i) { return std::uint32_t{a[i]}; }) == 0);
    }
  });
}

#undef LANE_TYPES
