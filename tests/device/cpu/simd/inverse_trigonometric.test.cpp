// SPDX-License-Identifier: BSL-1.0
// asin, acos, atan and atan2 against std:: in more digits.
#include "ulps.hpp"

TEST_CASE("asin: within its stated error of std::asin") {
  simd_test::check_accuracy(
      "asin", [](auto x) { return asin(x); }, [](auto x) { return std::asin(x); }, -1.01, 1.01);
}
TEST_CASE("acos: within its stated error of std::acos") {
  simd_test::check_accuracy(
      "acos", [](auto x) { return acos(x); }, [](auto x) { return std::acos(x); }, -1.01, 1.01);
}
TEST_CASE("atan: within its stated error of std::atan") {
  simd_test::check_accuracy(
      "atan", [](auto x) { return atan(x); }, [](auto x) { return std::atan(x); }, -5, 5);
}
TEST_CASE("atan2: within its stated error of std::atan2 in all quadrants, with the signs of zeros") {
  simd_test::check_accuracy_of_two(
      "atan2", [](auto y, auto x) { return atan2(y, x); }, [](auto y, auto x) { return std::atan2(y, x); }, -3, 3, -3,
      3);
}
