// SPDX-License-Identifier: BSL-1.0
// The instructions behind fma, lesser, greater and rounded, at widths below, of and above a register.
#include "lane_values.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace simd_test;

TEST_CASE_TEMPLATE("hardware: lesser and greater give the second operand if either is a NaN", T, float, double) {
  every_width([]<int N>() {
    const lanes<T, N> nan(std::numeric_limits<T>::quiet_NaN()), one(T(1)), two(T(2));
    CHECK(differences(lesser(nan, one), [](std::size_t) { return T(1); }) == 0);
    CHECK(differences(greater(nan, one), [](std::size_t) { return T(1); }) == 0);
    CHECK(all(isnan(lesser(one, nan))));
    CHECK(all(isnan(greater(one, nan))));
    CHECK(differences(lesser(two, one), [](std::size_t) { return T(1); }) == 0);
    CHECK(differences(greater(one, two), [](std::size_t) { return T(2); }) == 0);
  });
}
TEST_CASE_TEMPLATE("hardware: every lane of every width goes through its own instruction", T, float, double) {
  every_width([]<int N>() {
    values<T, N> a{};
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i) + T(0.75);
    CHECK(differences(sqrt(as_lanes<T, N>(a)), [&](std::size_t i) { return std::sqrt(a[i]); }) == 0);
    CHECK(differences(floor(as_lanes<T, N>(a)), [&](std::size_t i) { return static_cast<T>(i); }) == 0);
    CHECK(differences(fma(as_lanes<T, N>(a), lanes<T, N>(T(2)), lanes<T, N>(T(1))),
                      [&](std::size_t i) { return 2 * a[i] + 1; }) == 0);
  });
}
