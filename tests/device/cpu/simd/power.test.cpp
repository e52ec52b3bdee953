// SPDX-License-Identifier: BSL-1.0
// pow and hypot against std:: in more digits.
#include "ulps.hpp"

TEST_CASE("pow: within its stated error of std::pow, with the special values of C") {
  const auto f = [](auto x, auto y) { return pow(x, y); };
  const auto oracle = [](auto x, auto y) { return std::pow(x, y); };
  simd_test::check_accuracy_of_two("pow", f, oracle, 0, 10, -30, 30);
  simd_test::check_accuracy_of_two("pow", f, oracle, 0.9, 1.1, -900, 900);
}
TEST_CASE("pow: a negative base to an integer has the sign of C, and NaN to a fraction") {
  for (int n = -9; n <= 9; ++n) {
    CHECK(kiln::cpu::reduce_min(pow(kiln::cpu::splat<8>(-1.5f), kiln::cpu::splat<8>(static_cast<float>(n)))) ==
          static_cast<float>(std::pow(-1.5, n)));
  }
  CHECK(all(isnan(pow(kiln::cpu::splat<8>(-1.5f), kiln::cpu::splat<8>(0.5f)))));
}
TEST_CASE("hypot: within its stated error of std::hypot, without overflow on the way") {
  const auto f = [](auto x, auto y) { return hypot(x, y); };
  const auto oracle = [](auto x, auto y) { return std::hypot(x, y); };
  simd_test::check_accuracy_of_two("hypot", f, oracle, -3, 3, -3, 3);
}
