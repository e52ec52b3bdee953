// SPDX-License-Identifier: BSL-1.0
// The two half-width floating types: half (IEEE 754 binary16) and bfloat16 (the upper half of a binary32).
// They only store: every computation converts to float first and rounds once, to nearest even, on the way back.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <kiln/core/version.hpp>

namespace kiln {

/// Bits of the binary16 nearest to `value`, ties to even; a NaN stays a NaN and keeps the top of its payload.
constexpr std::uint16_t half_bits(float value) noexcept {
  const auto all = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (all >> 16) & 0x8000u;
  const std::uint32_t size = all & 0x7fffffffu;
  if (size > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | ((size >> 13) & 0x3ffu));
  if (size >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and above round to infinity
  if (size < 0x38800000u) {
    // Below 2^-14 the result is subnormal, in steps of 2^-24: the step of a float in [0.5, 1), so the sum rounds.
    const float shifted = std::bit_cast<float>(size) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = size + 0xfffu + ((size >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

/// The value of a binary16 as a float, exactly; a signalling NaN becomes quiet, as the hardware conversion does.
constexpr float half_value(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, fraction = bits & 0x3ffu;
  if (exponent == 0) {
    const float size = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(size));
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction ? 0x400000u : 0u) | (fraction << 13));
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

/// Bits of the bfloat16 nearest to `value`, ties to even; a NaN stays a NaN and keeps the top of its payload.
constexpr std::uint16_t bfloat16_bits(float value) noexcept {
  const auto all = std::bit_cast<std::uint32_t>(value);
  if ((all & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((all >> 16) | 0x40u);
  return static_cast<std::uint16_t>((all + 0x7fffu + ((all >> 16) & 1u)) >> 16);
}

/// `value` as a float for a second rounding to fewer bits: what float cannot hold is kept as a set last bit ("round to
/// odd", Boldo and Melquiond 2008), so that rounding the result to half or bfloat16 is right in spite of two steps.
template <class Number>
constexpr float rounded_to_odd(Number value) noexcept {
  // Every 64-bit integer has an exact long double on the platforms of this library; a double costs less where it does.
  using wide = std::conditional_t<std::same_as<Number, double> || sizeof(Number) <= 4, double, long double>;
  const wide exact = static_cast<wide>(value);
  if constexpr (std::floating_point<Number>) {
    // Beyond the range of float a conversion is undefined in constant expressions, and the answer is infinity anyway.
    constexpr wide top = static_cast<wide>(std::numeric_limits<float>::max());
    if (exact > top) return std::numeric_limits<float>::infinity();
    if (exact < -top) return -std::numeric_limits<float>::infinity();
  }
  const float near = static_cast<float>(exact);
  const wide back = static_cast<wide>(near);
  if (!(back < exact) && !(back > exact)) return near;  // exact, or a NaN
  auto bits = std::bit_cast<std::uint32_t>(near);
  if (exact < 0 ? back < exact : back > exact) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1u);
}

/// IEEE 754 binary16: 11 significant bits, largest value 65504, smallest 2^-24.
struct half {
  std::uint16_t bits;

  half() = default;
  constexpr half(float value) noexcept : bits(half_bits(value)) {}
  /// Any other number, rounded once.
  template <class Number>
    requires std::is_arithmetic_v<Number>
  explicit constexpr half(Number value) noexcept : half(rounded_to_odd(value)) {}
  constexpr operator float() const noexcept { return half_value(bits); }

  static constexpr half from_bits(std::uint16_t pattern) noexcept {
    half out(0.0f);
    out.bits = pattern;
    return out;
  }
};

/// The upper 16 bits of a binary32: 8 significant bits, the range of float.
struct bfloat16 {
  std::uint16_t bits;

  bfloat16() = default;
  constexpr bfloat16(float value) noexcept : bits(bfloat16_bits(value)) {}
  /// Any other number, rounded once.
  template <class Number>
    requires std::is_arithmetic_v<Number>
  explicit constexpr bfloat16(Number value) noexcept : bfloat16(rounded_to_odd(value)) {}
  constexpr operator float() const noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

  static constexpr bfloat16 from_bits(std::uint16_t pattern) noexcept {
    bfloat16 out(0.0f);
    out.bits = pattern;
    return out;
  }
};

static_assert(sizeof(half) == 2 && std::is_trivially_copyable_v<half> &&
              std::is_trivially_default_constructible_v<half>);
static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<bfloat16> &&
              std::is_trivially_default_constructible_v<bfloat16>);

}  // namespace kiln

namespace std {

template <>
class numeric_limits<kiln::half> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr float_denorm_style has_denorm = denorm_present;
  static constexpr bool has_denorm_loss = false, is_iec559 = true, is_bounded = true, is_modulo = false;
  static constexpr bool traps = false, tinyness_before = false;
  static constexpr float_round_style round_style = round_to_nearest;
  static constexpr int digits = 11, digits10 = 3, max_digits10 = 5, radix = 2;
  static constexpr int min_exponent = -13, min_exponent10 = -4, max_exponent = 16, max_exponent10 = 4;
  static constexpr kiln::half min() noexcept { return kiln::half::from_bits(0x0400); }
  static constexpr kiln::half max() noexcept { return kiln::half::from_bits(0x7bff); }
  static constexpr kiln::half lowest() noexcept { return kiln::half::from_bits(0xfbff); }
  static constexpr kiln::half epsilon() noexcept { return kiln::half::from_bits(0x1400); }
  static constexpr kiln::half round_error() noexcept { return kiln::half::from_bits(0x3800); }
  static constexpr kiln::half infinity() noexcept { return kiln::half::from_bits(0x7c00); }
  static constexpr kiln::half quiet_NaN() noexcept { return kiln::half::from_bits(0x7e00); }
  static constexpr kiln::half signaling_NaN() noexcept { return kiln::half::from_bits(0x7d00); }
  static constexpr kiln::half denorm_min() noexcept { return kiln::half::from_bits(0x0001); }
};

template <>
class numeric_limits<kiln::bfloat16> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr float_denorm_style has_denorm = denorm_present;
  static constexpr bool has_denorm_loss = false, is_iec559 = true, is_bounded = true, is_modulo = false;
  static constexpr bool traps = false, tinyness_before = false;
  static constexpr float_round_style round_style = round_to_nearest;
  static constexpr int digits = 8, digits10 = 2, max_digits10 = 4, radix = 2;
  static constexpr int min_exponent = -125, min_exponent10 = -37, max_exponent = 128, max_exponent10 = 38;
  static constexpr kiln::bfloat16 min() noexcept { return kiln::bfloat16::from_bits(0x0080); }
  static constexpr kiln::bfloat16 max() noexcept { return kiln::bfloat16::from_bits(0x7f7f); }
  static constexpr kiln::bfloat16 lowest() noexcept { return kiln::bfloat16::from_bits(0xff7f); }
  static constexpr kiln::bfloat16 epsilon() noexcept { return kiln::bfloat16::from_bits(0x3c00); }
  static constexpr kiln::bfloat16 round_error() noexcept { return kiln::bfloat16::from_bits(0x3f00); }
  static constexpr kiln::bfloat16 infinity() noexcept { return kiln::bfloat16::from_bits(0x7f80); }
  static constexpr kiln::bfloat16 quiet_NaN() noexcept { return kiln::bfloat16::from_bits(0x7fc0); }
  static constexpr kiln::bfloat16 signaling_NaN() noexcept { return kiln::bfloat16::from_bits(0x7fa0); }
  static constexpr kiln::bfloat16 denorm_min() noexcept { return kiln::bfloat16::from_bits(0x0001); }
};

}  // namespace std
