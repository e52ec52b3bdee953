// SPDX-License-Identifier: BSL-1.0
// log, log2, log10 and log1p against std:: in more digits.
#include "ulps.hpp"

TEST_CASE("log: within its stated error of std::log") {
  simd_test::check_accuracy(
      "log", [](auto x) { return log(x); }, [](auto x) { return std::log(x); }, 0.5, 2);
  simd_test::check_accuracy(
      "log", [](auto x) { return log(x); }, [](auto x) { return std::log(x); }, -1, 1000);
}
TEST_CASE("log2: within its stated error of std::log2, exact for powers of two") {
  simd_test::check_accuracy(
      "log2", [](auto x) { return log2(x); }, [](auto x) { return std::log2(x); }, 0.5, 2);
  simd_test::check_accuracy(
      "log2", [](auto x) { return log2(x); }, [](auto x) { return std::log2(x); }, -1, 1000);
  for (int n = -1074; n < 1024; ++n) {
    CHECK(kiln::cpu::reduce_min(log2(kiln::cpu::splat<8>(std::ldexp(1.0, n)))) == static_cast<double>(n));
  }
}
TEST_CASE("log10: within its stated error of std::log10") {
  simd_test::check_accuracy(
      "log10", [](auto x) { return log10(x); }, [](auto x) { return std::log10(x); }, 0.5, 2);
  simd_test::check_accuracy(
      "log10", [](auto x) { return log10(x); }, [](auto x) { return std::log10(x); }, -1, 10000);
}
TEST_CASE("log1p: within its stated error of std::log1p") {
  simd_test::check_accuracy(
      "log1p", [](auto x) { return log1p(x); }, [](auto x) { return std::log1p(x); }, -1.1, 1);
  simd_test::check_accuracy(
      "log1p", [](auto x) { return log1p(x); }, [](auto x) { return std::log1p(x); }, -1, 1000);
}

TEST_CASE_TEMPLATE("log: the splitting by bits takes every positive number apart exactly", T, float, double) {
  int wrong = 0;
  for (const T x : simd_test::samples<T>(0.1, 10, 3000)) {
    if (!(x > 0) || std::isinf(x)) continue;
    const auto [e, f] = kiln::cpu::split_by_bits(kiln::cpu::splat<8>(x));
    const T exponent = kiln::cpu::to_array(e)[0], mantissa = kiln::cpu::to_array(f)[0] + T(1);
    wrong +=
        std::ldexp(mantissa, static_cast<int>(exponent)) == x && mantissa >= T(0.7071) && mantissa < T(1.4143) ? 0 : 1;
  }
  CHECK(wrong == 0);
}
