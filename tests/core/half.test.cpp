// SPDX-License-Identifier: BSL-1.0
// half and bfloat16 against a search for the nearest representable number in double.
#include <kiln/core/half.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace {

using kiln::bfloat16;
using kiln::half;

// The value of a pattern from the definition of the format, in double.
double defined_value(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

template <class H>
constexpr int exponent_bits = std::is_same_v<H, half> ? 5 : 8;

// Values on both sides of, and exactly at, the midpoint above every finite non-negative pattern.
template <class H, class Number>
void check_rounding() {
  const std::uint16_t infinity = std::numeric_limits<H>::infinity().bits;
  int wrong = 0;
  for (std::uint16_t bits = 0; bits < infinity; ++bits) {
    const auto above = static_cast<std::uint16_t>(bits + 1);
    const double low = defined_value(bits, exponent_bits<H>);
    // The step to infinity counts as one more step of the last exponent.
    const double high = above == infinity ? std::ldexp(1.0, std::is_same_v<H, half> ? 16 : 128)
                                          : defined_value(above, exponent_bits<H>);
    const auto middle = static_cast<Number>((low + high) / 2);
    const std::uint16_t even = (bits & 1) != 0 ? above : bits;
    const Number zero = 0, huge = std::numeric_limits<Number>::infinity();
    if (H(static_cast<Number>(low)).bits != bits) ++wrong;
    if (H(middle).bits != even) ++wrong;
    if (H(std::nextafter(middle, zero)).bits != bits) ++wrong;
    if (H(std::nextafter(middle, huge)).bits != above) ++wrong;
    if (H(-middle).bits != (even | 0x8000)) ++wrong;
    if (H(std::nextafter(-middle, zero)).bits != (bits | 0x8000)) ++wrong;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("half types: every pattern has the value that the format defines", H, half, bfloat16) {
  int wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const double expected = defined_value(pattern, exponent_bits<H>);
    const float value = H::from_bits(pattern);
    if (std::isnan(expected) ? !std::isnan(value) : !(static_cast<double>(value) == expected)) ++wrong;
    if (std::signbit(value) != ((bits & 0x8000) != 0)) ++wrong;
    if (!std::isnan(value) && H(value).bits != pattern) ++wrong;
    if (std::isnan(value) && !std::isnan(static_cast<float>(H(value)))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("half types: float rounds to nearest even", H, half, bfloat16) {
  check_rounding<H, float>();
}
TEST_CASE_TEMPLATE("half types: double rounds once", H, half, bfloat16) {
  check_rounding<H, double>();
}
TEST_CASE_TEMPLATE("half types: long double rounds once", H, half, bfloat16) {
  check_rounding<H, long double>();
}

TEST_CASE("half types: 64-bit integers round once") {
  // 2^62 + 2^54 is the midpoint of two bfloat16 numbers; one more lies beyond it, which a float can't tell.
  const std::int64_t middle = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
  CHECK(static_cast<float>(bfloat16(middle)) == 0x1p62f);
  CHECK(static_cast<float>(bfloat16(middle + 1)) == 0x1.02p62f);
  CHECK(static_cast<float>(bfloat16(-middle - 1)) == -0x1.02p62f);
  CHECK(static_cast<float>(half(std::int64_t{1} << 40)) == std::numeric_limits<float>::infinity());
  CHECK(static_cast<float>(half(true)) == 1.0f);
  CHECK(static_cast<float>(half(2049)) == 2048.0f);
}

TEST_CASE("half types: overflow gives infinity and NaN stays NaN") {
  CHECK(half(65519.0f).bits == 0x7bff);
  CHECK(half(65520.0f).bits == 0x7c00);
  CHECK(half(-1e300).bits == 0xfc00);
  CHECK(bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  // A payload that lies only in the bits cut off must not become infinity.
  const float low_payload = std::bit_cast<float>(0x7f800001u);
  CHECK(std::isnan(static_cast<float>(half(low_payload))));
  CHECK(std::isnan(static_cast<float>(bfloat16(low_payload))));
  CHECK(std::isnan(static_cast<float>(half(std::nan("")))));
}

TEST_CASE_TEMPLATE("half types: numeric_limits agree with the format", H, half, bfloat16) {
  using limits = std::numeric_limits<H>;
  CHECK(static_cast<float>(limits::epsilon()) == std::ldexp(1.0f, 1 - limits::digits));
  CHECK(static_cast<float>(limits::min()) == std::ldexp(1.0f, limits::min_exponent - 1));
  CHECK(static_cast<float>(limits::denorm_min()) == std::ldexp(1.0f, limits::min_exponent - limits::digits));
  CHECK(static_cast<double>(limits::max()) ==
        std::ldexp(2 - static_cast<double>(limits::epsilon()), limits::max_exponent - 1));
  CHECK(static_cast<float>(limits::lowest()) == -static_cast<float>(limits::max()));
  CHECK(std::isnan(static_cast<float>(limits::quiet_NaN())));
  CHECK(std::isnan(static_cast<float>(limits::signaling_NaN())));
  CHECK(std::isinf(static_cast<float>(limits::infinity())));
}

TEST_CASE("half types: conversions are constant expressions") {
  static_assert(half(1.5f).bits == 0x3e00);
  static_assert(bfloat16(1.5f).bits == 0x3fc0);
  static_assert(static_cast<float>(half(0x1p-24f)) == 0x1p-24f);
  static_assert(half(0x1p-25f).bits == 0);
  static_assert(half(1e300).bits == 0x7c00);
  half sum = half(1.0f);
  sum = sum * 2 + half(0.5f);
  CHECK(sum == 2.5f);
}
