// SPDX-License-Identifier: BSL-1.0
// The two 8-bit floating types of the OCP's specification (OFP8, revision 1.0): E4M3 and E5M2, by PyTorch's names. They
// are no dtypes: tensor/float8.hpp holds tensors of them, for products.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <kiln/core/half.hpp>
#include <kiln/core/version.hpp>

namespace kiln {

/// What becomes of numbers beyond the largest finite one: the specification's two modes. `saturate` makes them the
/// largest, infinity as well; `overflow` makes them infinity, or NaN in the type that has none. A NaN stays a NaN.
enum class float8_range : std::uint8_t { saturate, overflow };

/// Bits of the 8-bit number with `fraction` bits of fraction, 3 or 2, nearest to `value`, ties to even.
constexpr std::uint8_t float8_bits(float value, int fraction, float8_range range) noexcept {
  const auto all = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (all >> 24) & 0x80u, size = all & 0x7fffffffu;
  if (size > 0x7f800000u) return static_cast<std::uint8_t>(sign | 0x7fu);
  const std::uint32_t dropped = 23 - static_cast<std::uint32_t>(fraction), bias = fraction == 3 ? 7 : 15;
  std::uint32_t rounded = 0;
  if (size < (128u - bias) << 23) {
    // Below the normal numbers, in steps of 2^(1 - bias - fraction): those of a float 2^23 times that, so the sum
    // rounds.
    const std::uint32_t steps = (151u - bias - static_cast<std::uint32_t>(fraction)) << 23;
    rounded = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + std::bit_cast<float>(steps)) - steps;
  } else {
    rounded = ((size + (1u << (dropped - 1)) - 1 + ((size >> dropped) & 1u)) >> dropped) - ((127u - bias) << fraction);
  }
  const std::uint32_t largest = fraction == 3 ? 0x7eu : 0x7bu;  // 448, 57344
  if (rounded > largest) rounded = range == float8_range::saturate ? largest : largest + 1;
  return static_cast<std::uint8_t>(sign | rounded);
}

/// The value of an 8-bit number with `fraction` bits of fraction, 3 or 2.
constexpr float float8_value(std::uint8_t bits, int fraction) noexcept {
  if (fraction == 2) return half_value(static_cast<std::uint16_t>(bits << 8));  // the upper half of a binary16
  const std::uint32_t sign = (bits & 0x80u) << 24, size = bits & 0x7fu;
  if (size == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  const float found = size < 8 ? static_cast<float>(size) * 0x1p-9f : std::bit_cast<float>((size + (120u << 3)) << 20);
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(found));
}

namespace detail {

template <int Fraction>
struct float8 {
  static constexpr int fraction = Fraction;
  std::uint8_t bits;

  float8() = default;
  /// The nearest number, ties to even; beyond the largest as PyTorch has it, `overflow`.
  explicit constexpr float8(float value, float8_range range = float8_range::overflow) noexcept
      : bits(float8_bits(value, Fraction, range)) {}
  constexpr operator float() const noexcept { return float8_value(bits, Fraction); }
  static constexpr float8 from_bits(std::uint8_t pattern) noexcept {
    float8 made(0.0F);
    made.bits = pattern;
    return made;
  }
};

}  // namespace detail

/// E4M3: 4 significant bits, largest value 448, smallest 2^-9, NaN but no infinity.
using float8_e4m3fn = detail::float8<3>;
/// E5M2: 3 significant bits, largest value 57344, smallest 2^-16, NaN and infinities.
using float8_e5m2 = detail::float8<2>;

template <class F>
concept Float8 = std::same_as<F, float8_e4m3fn> || std::same_as<F, float8_e5m2>;

static_assert(sizeof(float8_e4m3fn) == 1 && std::is_trivially_copyable_v<float8_e4m3fn>);

/// PyTorch's name of the type.
template <Float8 F>
inline constexpr std::string_view float8_name = F::fraction == 3 ? "float8_e4m3fn" : "float8_e5m2";

}  // namespace kiln
