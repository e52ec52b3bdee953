// SPDX-License-Identifier: BSL-1.0
// Horizontal reductions against sums, products and extremes one after the other.
#include "lane_values.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace simd_test;

TEST_CASE_TEMPLATE("reduce: integers wrap around, extremes are exact", T, std::int8_t, std::int16_t, std::int32_t,
                   std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  every_width([]<int N>() {
    for (std::uint64_t round = 0; round < 10; ++round) {
      const auto a = some_values<T, N>(round);
      std::uint64_t sum = 0, product = 1;
      for (const T x : a) {
        sum += static_cast<std::uint64_t>(x);
        product *= static_cast<std::uint64_t>(x);
      }
      const auto x = as_lanes<T, N>(a);
      CHECK(kiln::cpu::reduce_add(x) == static_cast<T>(sum));
      CHECK(kiln::cpu::reduce_mul(x) == static_cast<T>(product));
      CHECK(kiln::cpu::reduce_min(x) == *std::min_element(a.begin(), a.end()));
      CHECK(kiln::cpu::reduce_max(x) == *std::max_element(a.begin(), a.end()));
    }
  });
}

TEST_CASE_TEMPLATE("reduce: floats add, multiply and compare, and a NaN in any lane is the extreme", T, float, double) {
  every_width([]<int N>() {
    values<T, N> a{};
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i % 5) - T(2.5);
    T product = 1, sum = 0;  // powers of two and small integers: exact in any order
    values<T, N> powers{};
    for (std::size_t i = 0; i < a.size(); ++i) {
      powers[i] = i % 2 == 0 ? T(2) : T(-0.5);
      product *= powers[i];
      sum += a[i];
    }
    CHECK(kiln::cpu::reduce_add(as_lanes<T, N>(a)) == sum);
    CHECK(kiln::cpu::reduce_mul(as_lanes<T, N>(powers)) == product);
    CHECK(kiln::cpu::reduce_min(as_lanes<T, N>(a)) == *std::min_element(a.begin(), a.end()));
    CHECK(kiln::cpu::reduce_max(as_lanes<T, N>(a)) == *std::max_element(a.begin(), a.end()));
    for (std::size_t i = 0; i < a.size(); ++i) {
      auto b = a;
      b[i] = std::numeric_limits<T>::quiet_NaN();
      const T least = kiln::cpu::reduce_min(as_lanes<T, N>(b)), most = kiln::cpu::reduce_max(as_lanes<T, N>(b));
      CHECK(least != least);
      CHECK(most != most);
    }
  });
}
