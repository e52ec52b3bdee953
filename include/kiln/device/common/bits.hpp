// SPDX-License-Identifier: BSL-1.0
// How the numbers of an expression reach its kernels, on every device: as 64 bits.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace kiln::common {

/// How one number is stored in 64 bits: floating types as double, the others as int64.
template <class T>
constexpr std::uint64_t to_bits(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  else
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}
template <class T>
constexpr T from_bits(std::uint64_t bits) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(std::bit_cast<double>(bits));
  else
    return static_cast<T>(static_cast<std::int64_t>(bits));
}

}  // namespace kiln::common
