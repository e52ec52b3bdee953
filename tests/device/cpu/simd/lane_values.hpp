// SPDX-License-Identifier: BSL-1.0
// Values of every lane type for the tests of exact operations: the extremes first, then pseudo-random bits.
#pragma once

#include <kiln/device/cpu/simd/all.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace simd_test {

using kiln::cpu::lanes;

/// A small generator of our own, so that the values are the same everywhere.
class bit_source {
 public:
  explicit bit_source(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ ^ (state_ >> 29);
  }

 private:
  std::uint64_t state_;
};

template <class T, int N>
using values = std::array<T, static_cast<std::size_t>(N)>;

/// `round` picks other values each time; round 0 starts with the extremes.
template <class T, int N>
values<T, N> some_values(std::uint64_t round) {
  using limits = std::numeric_limits<T>;
  bit_source bits(round + 1);
  values<T, N> out{};
  for (int i = 0; i < N; ++i) {
    T& at = out[static_cast<std::size_t>(i)];
    const std::uint64_t word = bits.next();
    if constexpr (std::is_same_v<T, bool>)
      at = (word >> 17 & 1) != 0;
    else if constexpr (std::is_integral_v<T>)
      at = static_cast<T>(word >> 13);
    else
      at = static_cast<T>(static_cast<double>(static_cast<std::int64_t>(word)) / 0x1p59);  // within +-16
    if constexpr (!std::is_same_v<T, bool>) {
      const std::array<T, 8> edges{limits::max(),      limits::lowest(), T(0), T(1),
                                   static_cast<T>(-1), limits::min(),    T(2), T(3)};
      if (word % 5 == 0) at = edges[(word >> 40) % 8];
    }
  }
  return out;
}

template <class T, int N>
lanes<T, N> as_lanes(const values<T, N>& from) {
  return kiln::cpu::load<N>(from.data());
}
template <class T, int N>
values<T, N> as_values(lanes<T, N> from) {
  values<T, N> out{};
  kiln::cpu::store(out.data(), from);
  return out;
}

/// Calls f.operator()<N>() for every width.
template <class F>
void every_width(F f) {
  f.template operator()<2>();
  f.template operator()<4>();
  f.template operator()<8>();
  f.template operator()<16>();
  f.template operator()<32>();
  f.template operator()<64>();
}

/// Whether two numbers are the same, NaN and the sign of zero included.
template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a != a && b != b;
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return std::bit_cast<bits>(a) == std::bit_cast<bits>(b);
  } else {
    return a == b;
  }
}

/// How many lanes differ from `expected(i)`.
template <class T, int N, class Expected>
int differences(lanes<T, N> got, Expected expected) {
  const auto out = as_values(got);
  int count = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(N); ++i) count += same<T>(out[i], expected(i)) ? 0 : 1;
  return count;
}

}  // namespace simd_test
