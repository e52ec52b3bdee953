// SPDX-License-Identifier: BSL-1.0
// Loads and stores of fewer than N elements, at the end of buffers of exactly that size: a touch beyond is an error
// under the address sanitizer, and under any build for the guard after what is stored.
#include "lane_values.hpp"

#include <doctest/doctest.h>

#include <memory>

using namespace simd_test;

TEST_CASE_TEMPLATE("partial: loads and stores touch count elements at the end of a buffer", S, float, double,
                   std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, kiln::half, kiln::bfloat16) {
  using T = kiln::cpu::opmath_t<S>;
  every_width([]<int N>() {
    int wrong = 0;
    for (int count = 0; count <= N; ++count) {
      // A buffer of exactly `count` elements: a touch beyond is an error under the address sanitizer.
      const auto size = static_cast<std::size_t>(count);
      const std::unique_ptr<S[]> from(new S[size]), to(new S[size]);
      for (std::size_t i = 0; i < size; ++i) from[i] = static_cast<S>(static_cast<float>(i + 1));
      const auto x = kiln::cpu::load_partial<N>(from.get(), count);
      wrong += differences(x, [&](std::size_t i) {
        if (count == 0) return T(0);
        return i < size ? static_cast<T>(from[i]) : static_cast<T>(from[0]);
      });
      kiln::cpu::store_partial(to.get(), x + lanes<T, N>(T(1)), count);
      for (std::size_t i = 0; i < size; ++i) wrong += static_cast<T>(to[i]) == static_cast<T>(i + 2) ? 0 : 1;
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("partial: loads and stores of bool") {
  every_width([]<int N>() {
    int wrong = 0;
    for (int count = 0; count <= N; ++count) {
      const auto size = static_cast<std::size_t>(count);
      const std::unique_ptr<bool[]> from(new bool[size]), to(new bool[size]);
      for (std::size_t i = 0; i < size; ++i) from[i] = i % 3 == 0;
      kiln::cpu::store_partial(to.get(), !kiln::cpu::load_partial<N>(from.get(), count), count);
      for (std::size_t i = 0; i < size; ++i) wrong += to[i] == (i % 3 != 0) ? 0 : 1;
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE_TEMPLATE("partial: a store leaves what lies beyond as it was", S, float, double, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, kiln::half, bool) {
  using T = kiln::cpu::opmath_t<S>;
  every_width([]<int N>() {
    int wrong = 0;
    for (int count = 0; count <= N; ++count) {
      values<S, N> to{};
      kiln::cpu::store_partial(to.data(), lanes<T, N>(T(1)), count);
      for (int i = 0; i < N; ++i)
        wrong += static_cast<T>(to[static_cast<std::size_t>(i)]) == static_cast<T>(i < count ? 1 : 0) ? 0 : 1;
    }
    CHECK(wrong == 0);
  });
}
