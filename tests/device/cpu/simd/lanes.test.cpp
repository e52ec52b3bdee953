// SPDX-License-Identifier: BSL-1.0
// Arithmetic and bits of lanes against scalar arithmetic: IEEE for floats, wrapping around for integers.
#include "lane_values.hpp"

#include <doctest/doctest.h>

#define LANE_TYPES                                                                                                  \
  float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, \
      std::uint64_t
#define LANE_INTEGERS \
  std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t

using namespace simd_test;

namespace {

// One operation per function, so that no two are contracted into one rounding.
template <class T>
T wrapped_add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}
template <class T>
T wrapped_subtract(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  else
    return a - b;
}
template <class T>
T wrapped_multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}

}  // namespace

TEST_CASE_TEMPLATE("lanes: + - * and unary - are those of the type, integers wrap around", T, LANE_TYPES) {
  every_width([]<int N>() {
    int wrong = 0;
    for (std::uint64_t round = 0; round < 40; ++round) {
      const auto a = some_values<T, N>(2 * round), b = some_values<T, N>(2 * round + 1);
      const auto x = as_lanes<T, N>(a), y = as_lanes<T, N>(b);
      wrong += differences(x + y, [&](std::size_t i) { return wrapped_add(a[i], b[i]); });
      wrong += differences(x - y, [&](std::size_t i) { return wrapped_subtract(a[i], b[i]); });
      wrong += differences(x * y, [&](std::size_t i) { return wrapped_multiply(a[i], b[i]); });
      wrong += differences(-x, [&](std::size_t i) {
        if constexpr (std::is_floating_point_v<T>)
          return -a[i];
        else
          return wrapped_subtract(T{0}, a[i]);
      });
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE_TEMPLATE("lanes: / and sqrt are correctly rounded", T, float, double) {
  every_width([]<int N>() {
    int wrong = 0;
    for (std::uint64_t round = 0; round < 40; ++round) {
      const auto a = some_values<T, N>(2 * round), b = some_values<T, N>(2 * round + 1);
      const auto x = as_lanes<T, N>(a), y = as_lanes<T, N>(b);
      wrong += differences(x / y, [&](std::size_t i) { return a[i] / b[i]; });
      wrong += differences(sqrt(x), [&](std::size_t i) { return std::sqrt(a[i]); });
      wrong += differences(reciprocal(x), [&](std::size_t i) { return T(1) / a[i]; });
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE_TEMPLATE("lanes: fma is one rounding where the hardware has it, else two", T, float, double) {
  every_width([]<int N>() {
    int wrong = 0;
    for (std::uint64_t round = 0; round < 20; ++round) {
      const auto a = some_values<T, N>(3 * round), b = some_values<T, N>(3 * round + 1),
                 c = some_values<T, N>(3 * round + 2);
      const auto got = fma(as_lanes<T, N>(a), as_lanes<T, N>(b), as_lanes<T, N>(c));
      wrong += differences(got, [&](std::size_t i) {
        return kiln::cpu::has_fma ? std::fma(a[i], b[i], c[i]) : wrapped_add(wrapped_multiply(a[i], b[i]), c[i]);
      });
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE_TEMPLATE("lanes: & | ^ ~ work on the bits", T, LANE_INTEGERS) {
  every_width([]<int N>() {
    const auto a = some_values<T, N>(1), b = some_values<T, N>(2);
    const auto x = as_lanes<T, N>(a), y = as_lanes<T, N>(b);
    CHECK(differences(x & y, [&](std::size_t i) { return static_cast<T>(a[i] & b[i]); }) == 0);
    CHECK(differences(x | y, [&](std::size_t i) { return static_cast<T>(a[i] | b[i]); }) == 0);
    CHECK(differences(x ^ y, [&](std::size_t i) { return static_cast<T>(a[i] ^ b[i]); }) == 0);
    CHECK(differences(~x, [&](std::size_t i) { return static_cast<T>(~a[i]); }) == 0);
  });
}

TEST_CASE_TEMPLATE("lanes: a broadcast keeps the value, the sign of -0.0 included", T, LANE_TYPES, bool) {
  every_width([]<int N>() {
    for (const T value : some_values<T, 16>(3)) {
      CHECK(differences(lanes<T, N>(value), [&](std::size_t) { return value; }) == 0);
    }
    if constexpr (std::is_floating_point_v<T>) {
      CHECK(differences(kiln::cpu::splat<N>(T(-0.0)), [&](std::size_t) { return T(-0.0); }) == 0);
    }
  });
}

#undef LANE_TYPES
#undef LANE_INTEGERS
