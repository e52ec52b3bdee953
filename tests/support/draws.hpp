// SPDX-License-Identifier: BSL-1.0
// The oracle of tests that draw: numbers of a stream from their words, by the formulas and one at a time. The words
// come from philox4x32, which its own test compares with the values that its authors published.
#pragma once

#include <cmath>
#include <cstdint>

#include <kiln/core/philox.hpp>

namespace test {

inline std::uint32_t word(std::uint64_t seed, std::uint64_t first, std::uint64_t i) {
  const std::uint64_t block = first + i / 4;
  return kiln::philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
                          {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)})[i % 4];
}
/// Number i of those that a tensor of float draws.
inline double uniform(std::uint64_t seed, std::uint64_t first, std::uint64_t i) {
  return static_cast<double>(word(seed, first, i) >> 8) * 0x1p-24;
}
/// Box and Muller of words i and i + 1 (i even), or of pairs of them.
inline double normal(std::uint64_t seed, std::uint64_t first, std::uint64_t i) {
  const std::uint64_t pair = i & ~std::uint64_t{1};
  const double u = (static_cast<double>(word(seed, first, pair) >> 1) + 0.5) * 0x1p-31;
  const double angle = static_cast<std::int32_t>(word(seed, first, pair + 1)) * (0x1p-31 * 3.14159265358979323846);
  return std::sqrt(-2 * std::log(u)) * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
}
inline double normal_of_double(std::uint64_t seed, std::uint64_t first, std::uint64_t i) {
  const auto bits = [&](std::uint64_t k) {
    return word(seed, first, 2 * k) | static_cast<std::uint64_t>(word(seed, first, 2 * k + 1)) << 32;
  };
  const std::uint64_t pair = i & ~std::uint64_t{1};
  const double u = (static_cast<double>(bits(pair) >> 1) + 0.5) * 0x1p-63;
  const double angle =
      static_cast<double>(static_cast<std::int64_t>(bits(pair + 1))) * (0x1p-63 * 3.14159265358979323846);
  return std::sqrt(-2 * std::log(u)) * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

}  // namespace test
