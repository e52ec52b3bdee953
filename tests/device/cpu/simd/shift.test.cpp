// SPDX-License-Identifier: BSL-1.0
// Shifts of integer lanes, against scalar shifts where those are defined and the rule of PyTorch elsewhere.
#include "lane_values.hpp"

#include <doctest/doctest.h>

#define LANE_INTEGERS \
  std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t

using namespace simd_test;

TEST_CASE_TEMPLATE("shifts: amounts out of range shift everything out, as PyTorch's do", T, LANE_INTEGERS) {
  constexpr int width = 8 * static_cast<int>(sizeof(T));
  using bits = std::make_unsigned_t<T>;
  every_width([]<int N>() {
    const auto a = some_values<T, N>(7);
    values<T, N> by{};
    const int amounts[] = {0, 1, width - 1, width, width + 1, -1, 2, 100};
    for (std::size_t i = 0; i < by.size(); ++i) by[i] = static_cast<T>(amounts[i % 8]);
    const auto x = as_lanes<T, N>(a), y = as_lanes<T, N>(by);
    const auto inside = [&](std::size_t i) { return by[i] >= 0 && by[i] < width; };
    CHECK(differences(x << y, [&](std::size_t i) {
            return inside(i) ? static_cast<T>(static_cast<bits>(a[i]) << static_cast<int>(by[i])) : T{0};
          }) == 0);
    CHECK(differences(x >> y, [&](std::size_t i) {
            if (inside(i)) return static_cast<T>(a[i] >> static_cast<int>(by[i]));
            return a[i] < 0 ? static_cast<T>(-1) : T{0};
          }) == 0);
    CHECK(differences(kiln::cpu::shift_left<3>(x),
                      [&](std::size_t i) { return static_cast<T>(static_cast<bits>(a[i]) << 3); }) == 0);
    CHECK(differences(kiln::cpu::shift_right<3>(x), [&](std::size_t i) { return static_cast<T>(a[i] >> 3); }) == 0);
  });
}

#undef LANE_INTEGERS
