// SPDX-License-Identifier: BSL-1.0
// exp, exp2, expm1 and sigmoid against std:: in more digits.
#include "ulps.hpp"

TEST_CASE("exp: within its stated error of std::exp") {
  simd_test::check_accuracy(
      "exp", [](auto x) { return exp(x); }, [](auto x) { return std::exp(x); }, -110, 90);
  simd_test::check_accuracy(
      "exp", [](auto x) { return exp(x); }, [](auto x) { return std::exp(x); }, -745.2, 709.8);
  simd_test::check_accuracy(
      "exp", [](auto x) { return exp(x); }, [](auto x) { return std::exp(x); }, -2, 2);
}
TEST_CASE("exp2: within its stated error of std::exp2, exact for integers") {
  simd_test::check_accuracy(
      "exp2", [](auto x) { return exp2(x); }, [](auto x) { return std::exp2(x); }, -150, 130);
  simd_test::check_accuracy(
      "exp2", [](auto x) { return exp2(x); }, [](auto x) { return std::exp2(x); }, -1080, 1030);
  for (int n = -149; n < 128; ++n) {
    const auto y = exp2(kiln::cpu::splat<16>(static_cast<float>(n)));
    CHECK(kiln::cpu::reduce_min(y) == std::ldexp(1.0f, n));
  }
}
TEST_CASE("expm1: within its stated error of std::expm1") {
  simd_test::check_accuracy(
      "expm1", [](auto x) { return expm1(x); }, [](auto x) { return std::expm1(x); }, -1, 1);
  simd_test::check_accuracy(
      "expm1", [](auto x) { return expm1(x); }, [](auto x) { return std::expm1(x); }, -60, 89);
  simd_test::check_accuracy(
      "expm1", [](auto x) { return expm1(x); }, [](auto x) { return std::expm1(x); }, 80, 710);
}
TEST_CASE("sigmoid: within its stated error, with all digits of small results") {
  const auto oracle = [](auto x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); };
  simd_test::check_accuracy(
      "sigmoid", [](auto x) { return sigmoid(x); }, oracle, -20, 20);
  simd_test::check_accuracy(
      "sigmoid", [](auto x) { return sigmoid(x); }, oracle, -750, 50);
}
