// SPDX-License-Identifier: BSL-1.0
// erf and erfc against std:: in more digits; the form by table and the general one.
#include "ulps.hpp"

TEST_CASE("erf: within its stated error of std::erf, and 1 beyond") {
  simd_test::check_accuracy(
      "erf", [](auto x) { return erf(x); }, [](auto x) { return std::erf(x); }, -4.2, 4.2, 20000);
  simd_test::check_accuracy(
      "erf", [](auto x) { return erf(x); }, [](auto x) { return std::erf(x); }, -6.1, 6.1);
  for (const float x : {3.93f, 4.0f, 100.0f}) {
    CHECK(kiln::cpu::reduce_max(erf(kiln::cpu::splat<16>(x))) == 1.0f);
    CHECK(kiln::cpu::reduce_max(erf(kiln::cpu::splat<8>(x))) == 1.0f);
    CHECK(kiln::cpu::reduce_max(erf(kiln::cpu::splat<16>(-x))) == -1.0f);
  }
  CHECK(kiln::cpu::reduce_max(erf(kiln::cpu::splat<8>(100.0))) == 1.0);
}
TEST_CASE("erf: never leaves [-1, 1]") {
  float most = 0;
  for (float x = 0; x < 5; x += 1e-4f) {
    most = std::max({most, kiln::cpu::reduce_max(abs(erf(kiln::cpu::splat<16>(x)))),
                     kiln::cpu::reduce_max(abs(erf(kiln::cpu::splat<8>(x))))});
  }
  CHECK(most == 1.0f);
}
TEST_CASE("erfc: within its stated error of std::erfc down to where it underflows") {
  simd_test::check_accuracy(
      "erfc", [](auto x) { return erfc(x); }, [](auto x) { return std::erfc(x); }, -4, 10.5);
  simd_test::check_accuracy(
      "erfc", [](auto x) { return erfc(x); }, [](auto x) { return std::erfc(x); }, -1, 27.5);
}
