// SPDX-License-Identifier: BSL-1.0
// The 8-bit floating types against ml_dtypes' values, and against a search for the nearest number.
#include <kiln/core/float8.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

#include "float8_values.hpp"

using kiln::float8_bits;
using kiln::float8_e4m3fn;
using kiln::float8_e5m2;
using kiln::float8_range;

namespace {

float number(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

template <class F>
void check_values(const std::uint32_t (&values)[256]) {
  for (unsigned i = 0; i < 256; ++i) {
    const auto pattern = static_cast<std::uint8_t>(i);
    const float got = F::from_bits(pattern), wanted = number(values[i]);
    CAPTURE(i);
    CHECK((std::isnan(wanted) ? std::isnan(got) : std::bit_cast<std::uint32_t>(got) == values[i]));
    if (!std::isnan(wanted)) CHECK(F(wanted).bits == pattern);
    CHECK(std::isnan(static_cast<float>(F(got))) == std::isnan(wanted));
  }
}

template <class F, std::size_t N>
void check_middles(const std::uint32_t (&values)[256], const std::uint8_t (&rounded)[N], float largest) {
  std::size_t at = 0;
  for (std::size_t i = 0; number(values[i]) < largest; ++i) {
    const float middle = (number(values[i]) + number(values[i + 1])) / 2;
    for (const float x : {std::nextafter(middle, 0.0F), middle, std::nextafter(middle, INFINITY)}) {
      CAPTURE(x);
      REQUIRE(at < N);
      CHECK(F(x).bits == rounded[at]);
      CHECK(F(-x).bits == (rounded[at] | 0x80));
      CHECK(F(x, float8_range::saturate).bits == rounded[at++]);
    }
  }
  CHECK(at == N);
}

template <class F>
void check_beyond(const std::uint32_t (&beyond)[4], const std::uint8_t (&overflow)[4], std::uint8_t largest) {
  for (std::size_t i = 0; i < 4; ++i) {
    const float x = number(beyond[i]);
    CAPTURE(x);
    CHECK(F(x).bits == overflow[i]);
    CHECK(F(x, float8_range::saturate).bits == largest);
    CHECK(F(-x, float8_range::saturate).bits == (largest | 0x80));
  }
  for (const auto range : {float8_range::saturate, float8_range::overflow})
    CHECK(std::isnan(static_cast<float>(F(std::numeric_limits<float>::quiet_NaN(), range))));
}

// The pattern of the nearest value from 0 on, the even one of two as near.
template <std::size_t N>
std::uint8_t nearest(double x, const double (&values)[N]) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < N; ++i) {
    const double d = std::abs(values[i] - x), least = std::abs(values[best] - x);
    if (d < least || (d == least && i % 2 == 0)) best = i;
  }
  return static_cast<std::uint8_t>(best);
}

}  // namespace

TEST_CASE("float8: every pattern has ml_dtypes' value, and every value its pattern") {
  check_values<float8_e4m3fn>(float8_values::e4m3fn_values);
  check_values<float8_e5m2>(float8_values::e5m2_values);
}

TEST_CASE("float8: around the middle of every two neighbours ml_dtypes rounds alike") {
  check_middles<float8_e4m3fn>(float8_values::e4m3fn_values, float8_values::e4m3fn_rounded, 448);
  check_middles<float8_e5m2>(float8_values::e5m2_values, float8_values::e5m2_rounded, 57344);
}

TEST_CASE("float8: beyond the largest number, both modes of the specification") {
  check_beyond<float8_e4m3fn>(float8_values::e4m3fn_beyond, float8_values::e4m3fn_overflow, 0x7e);
  check_beyond<float8_e5m2>(float8_values::e5m2_beyond, float8_values::e5m2_overflow, 0x7b);
}

TEST_CASE("float8: every half within range becomes the nearest number") {
  double e4m3fn[127], e5m2[124];
  for (std::size_t i = 0; i < std::size(e4m3fn); ++i)
    e4m3fn[i] = static_cast<double>(number(float8_values::e4m3fn_values[i]));
  for (std::size_t i = 0; i < std::size(e5m2); ++i)
    e5m2[i] = static_cast<double>(number(float8_values::e5m2_values[i]));
  int wrong = 0;
  for (std::uint16_t i = 0; i < 0x7c00; ++i) {
    const float x = kiln::half::from_bits(i);
    if (x <= 464) wrong += float8_e4m3fn(x).bits != nearest(static_cast<double>(x), e4m3fn);
    if (x < 61440) wrong += float8_e5m2(x).bits != nearest(static_cast<double>(x), e5m2);
    // Closer than half can say: the same side of a middle.
    if (x <= 464) wrong += float8_e4m3fn(x * 0x1p-9F).bits != nearest(static_cast<double>(x) * 0x1p-9, e4m3fn);
  }
  CHECK(wrong == 0);
  static_assert(float8_e4m3fn(1.0F).bits == 0x38 && float8_e5m2(-1.0F).bits == 0xbc);
  CHECK(kiln::float8_name<float8_e4m3fn> == "float8_e4m3fn");
  CHECK(float8_bits(0x1p-149F, 2, float8_range::saturate) == 0);
}
