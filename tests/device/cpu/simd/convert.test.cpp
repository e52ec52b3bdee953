// SPDX-License-Identifier: BSL-1.0
// Conversions between all lane types, against scalar casts where those are defined and the stated rule elsewhere.
#include "lane_values.hpp"

#include <doctest/doctest.h>

#include <cmath>

#define LANE_TYPES                                                                                                  \
  float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, \
      std::uint64_t, bool

using namespace simd_test;

namespace {

// What does not fit `Wide` becomes its most negative value, as the instruction gives.
template <class Wide>
Wide cut(double x) {
  const double top = std::ldexp(1.0, static_cast<int>(8 * sizeof(Wide)) - 1);
  return x >= -top && x < top ? static_cast<Wide>(x) : std::numeric_limits<Wide>::min();
}

template <class To, class From>
To expected(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, std::uint64_t>) {
      if (x >= From(0x1p63) && x < From(0x1p64)) return static_cast<To>(x);
      if (x >= From(0x1p64)) return 0;
      return static_cast<To>(cut<std::int64_t>(static_cast<double>(x)));
    } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, std::uint32_t> || std::is_same_v<To, std::uint8_t>) {
      return static_cast<To>(cut<std::int64_t>(static_cast<double>(x)));
    } else {
      return static_cast<To>(cut<std::int32_t>(static_cast<double>(x)));
    }
  } else {
    return static_cast<To>(x);
  }
}

template <class From, int N>
values<From, N> spread(std::uint64_t round) {
  auto out = some_values<From, N>(round);
  if constexpr (std::is_floating_point_v<From>) {
    // Sizes of every magnitude that an integer type ends at, and a NaN.
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (i % 2 == 0 && std::abs(out[i]) < From(100))
        out[i] = std::ldexp(out[i], static_cast<int>((round * 7 + i * 5) % 64));
      if (i % 7 == 3) out[i] = std::numeric_limits<From>::quiet_NaN();
      if (i % 7 == 5)
        out[i] = std::ldexp(From(1), static_cast<int>((round + i) % 66)) * (round % 2 == 0 ? From(1) : From(-1));
    }
  }
  return out;
}

template <class From, class To>
int wrong_conversions() {
  int wrong = 0;
  every_width([&]<int N>() {
    for (std::uint64_t round = 0; round < 12; ++round) {
      const auto a = spread<From, N>(round);
      wrong +=
          differences(kiln::cpu::convert<To>(as_lanes<From, N>(a)), [&](std::size_t i) { return expected<To>(a[i]); });
    }
  });
  return wrong;
}

}  // namespace

TEST_CASE_TEMPLATE("convert: every pair of types", From, LANE_TYPES) {
  CHECK(wrong_conversions<From, float>() == 0);
  CHECK(wrong_conversions<From, double>() == 0);
  CHECK(wrong_conversions<From, std::int8_t>() == 0);
  CHECK(wrong_conversions<From, std::int16_t>() == 0);
  CHECK(wrong_conversions<From, std::int32_t>() == 0);
  CHECK(wrong_conversions<From, std::int64_t>() == 0);
  CHECK(wrong_conversions<From, std::uint8_t>() == 0);
  CHECK(wrong_conversions<From, std::uint16_t>() == 0);
  CHECK(wrong_conversions<From, std::uint32_t>() == 0);
  CHECK(wrong_conversions<From, std::uint64_t>() == 0);
  CHECK(wrong_conversions<From, bool>() == 0);
}

#undef LANE_TYPES
