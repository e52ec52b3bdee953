// SPDX-License-Identifier: BSL-1.0
// Polynomials, integers in floating point and powers of two, against std::ldexp and exact values.
#include "lane_values.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace simd_test;

TEST_CASE_TEMPLATE("polynomial: 1 + 2x + 3x^2 has the value it should", T, float, double) {
  const auto y = kiln::cpu::polynomial(kiln::cpu::splat<8>(T(3)), T(1), T(2), T(3));
  CHECK(differences(y, [](std::size_t) { return T(34); }) == 0);
}
TEST_CASE_TEMPLATE("nearest: rounds to the nearest integer, ties to even", T, float, double) {
  for (T x = -300; x < 300; x += T(0.25)) {
    CHECK(kiln::cpu::to_array(nearest(kiln::cpu::splat<8>(x)))[0] == std::nearbyint(x));
  }
}
TEST_CASE_TEMPLATE("scaled: is std::ldexp, subnormal and infinite results included", T, float, double) {
  constexpr int bias = static_cast<int>(kiln::cpu::float_format<T>::bias);
  for (int n = -2 * bias + 1; n < 2 * bias; n += 3) {
    for (const T p : {T(1), T(1.4142135), T(0.75), T(1) + std::numeric_limits<T>::epsilon()}) {
      const auto got = kiln::cpu::to_array(scaled(kiln::cpu::splat<8>(p), kiln::cpu::splat<8>(static_cast<T>(n))));
      CHECK(got[5] == std::ldexp(p, n));
    }
  }
  for (int n = 1 - bias; n <= bias; ++n) {
    CHECK(kiln::cpu::to_array(power_of_two(kiln::cpu::splat<8>(static_cast<T>(n))))[3] == std::ldexp(T(1), n));
  }
}
TEST_CASE_TEMPLATE("integer_bits: are the integer", T, float, double) {
  for (int n = -1000; n < 1000; n += 7) {
    const auto bits = kiln::cpu::integer_bits(kiln::cpu::splat<8>(static_cast<T>(n)));
    CHECK(static_cast<int>(kiln::cpu::to_array(bits)[2]) == n);
  }
}
TEST_CASE("place_in_intervals: the nearest multiple's number, and the exact way from it") {
  for (int k = 0; k < 300; ++k) {
    const float x = static_cast<float>(k) / 32 + 1.0f / 128;
    const auto place = kiln::cpu::place_in_intervals(kiln::cpu::splat<8>(x), 0.25f);
    const float nearest = std::nearbyint(x * 4);
    CHECK(kiln::cpu::to_array(kiln::cpu::bits_as<std::uint32_t>(place.number))[1] % 64 ==
          static_cast<std::uint32_t>(nearest) % 64);
    CHECK(kiln::cpu::to_array(place.from_middle)[6] == x - nearest / 4);
  }
}
