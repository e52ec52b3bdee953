// SPDX-License-Identifier: BSL-1.0
// The hyperbolic functions and their inverses against std:: in more digits.
#include "ulps.hpp"

TEST_CASE("tanh: within its stated error of std::tanh, and 1 beyond") {
  simd_test::check_accuracy(
      "tanh", [](auto x) { return tanh(x); }, [](auto x) { return std::tanh(x); }, -10, 10);
  simd_test::check_accuracy(
      "tanh", [](auto x) { return tanh(x); }, [](auto x) { return std::tanh(x); }, -0.7, 0.7);
  CHECK(kiln::cpu::reduce_max(tanh(kiln::cpu::splat<16>(100.0f))) == 1.0f);
  CHECK(kiln::cpu::reduce_max(tanh(kiln::cpu::splat<8>(-100.0))) == -1.0);
}
TEST_CASE("sinh: within its stated error of std::sinh up to overflow") {
  simd_test::check_accuracy(
      "sinh", [](auto x) { return sinh(x); }, [](auto x) { return std::sinh(x); }, -3, 3);
  simd_test::check_accuracy(
      "sinh", [](auto x) { return sinh(x); }, [](auto x) { return std::sinh(x); }, 80, 90);
  simd_test::check_accuracy(
      "sinh", [](auto x) { return sinh(x); }, [](auto x) { return std::sinh(x); }, 700, 712);
}
TEST_CASE("cosh: within its stated error of std::cosh up to overflow") {
  simd_test::check_accuracy(
      "cosh", [](auto x) { return cosh(x); }, [](auto x) { return std::cosh(x); }, -3, 3);
  simd_test::check_accuracy(
      "cosh", [](auto x) { return cosh(x); }, [](auto x) { return std::cosh(x); }, 80, 90);
  simd_test::check_accuracy(
      "cosh", [](auto x) { return cosh(x); }, [](auto x) { return std::cosh(x); }, 700, 712);
}
TEST_CASE("asinh: within its stated error of std::asinh") {
  simd_test::check_accuracy(
      "asinh", [](auto x) { return asinh(x); }, [](auto x) { return std::asinh(x); }, -5, 5);
}
TEST_CASE("acosh: within its stated error of std::acosh") {
  simd_test::check_accuracy(
      "acosh", [](auto x) { return acosh(x); }, [](auto x) { return std::acosh(x); }, 0.9, 5);
}
TEST_CASE("atanh: within its stated error of std::atanh") {
  simd_test::check_accuracy(
      "atanh", [](auto x) { return atanh(x); }, [](auto x) { return std::atanh(x); }, -1.01, 1.01);
}
