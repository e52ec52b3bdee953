// SPDX-License-Identifier: BSL-1.0
// sin, cos and tan against std:: in more digits.
#include "ulps.hpp"

TEST_CASE("sin: within its stated error of std::sin, for large angles too") {
  simd_test::check_accuracy(
      "sin", [](auto x) { return sin(x); }, [](auto x) { return std::sin(x); }, -10, 10);
  simd_test::check_accuracy(
      "sin", [](auto x) { return sin(x); }, [](auto x) { return std::sin(x); }, -1.1e5, 1.1e5);
}
TEST_CASE("cos: within its stated error of std::cos, for large angles too") {
  simd_test::check_accuracy(
      "cos", [](auto x) { return cos(x); }, [](auto x) { return std::cos(x); }, -10, 10);
  simd_test::check_accuracy(
      "cos", [](auto x) { return cos(x); }, [](auto x) { return std::cos(x); }, -1.1e5, 1.1e5);
}
TEST_CASE("tan: within its stated error of std::tan, for large angles too") {
  simd_test::check_accuracy(
      "tan", [](auto x) { return tan(x); }, [](auto x) { return std::tan(x); }, -10, 10);
  simd_test::check_accuracy(
      "tan", [](auto x) { return tan(x); }, [](auto x) { return std::tan(x); }, -1.1e5, 1.1e5);
}
TEST_CASE("sin and cos: near multiples of pi/2 the digits that cancel are there") {
  std::vector<float> xs;
  std::vector<double> wide;
  for (int n = 1; n < 60000; n += 7) {
    xs.push_back(static_cast<float>(n * 1.57079632679489661923L));
    wide.push_back(static_cast<double>(n * 1.57079632679489661923L));
  }
  // An oracle in long double has 64 bits of its own argument, and these results start at the 53rd: so float only is
  // held to the stated error here, and double to what a 64-bit reduction knows.
  const double limit = kiln::cpu::accuracy_of("sin").single_ulps;
  CHECK(simd_test::worst<16>([](auto x) { return sin(x); }, [](double x) { return std::sin(x); }, xs).error <= limit);
  CHECK(simd_test::worst<16>([](auto x) { return cos(x); }, [](double x) { return std::cos(x); }, xs).error <= limit);
  CHECK(simd_test::worst<8>([](auto x) { return sin(x); }, [](long double x) { return std::sin(x); }, wide).error <= 2);
  CHECK(simd_test::worst<8>([](auto x) { return cos(x); }, [](long double x) { return std::cos(x); }, wide).error <= 2);
}
