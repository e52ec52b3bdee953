// SPDX-License-Identifier: BSL-1.0
// lgamma against std:: in more digits, digamma against closed forms and the slope of lgamma.
#include "ulps.hpp"

#include <numbers>

TEST_CASE("lgamma: within its stated error of std::lgamma") {
  simd_test::check_accuracy(
      "lgamma", [](auto x) { return lgamma(x); }, [](auto x) { return std::lgamma(x); }, 0.01, 50);
}
TEST_CASE("digamma: has its closed forms") {
  const double euler = std::numbers::egamma, ln2 = std::numbers::ln2, pi = std::numbers::pi;
  const double quarter = -euler - pi / 2 - 3 * ln2;
  const double points[][2] = {{1, -euler},
                              {2, 1 - euler},
                              {0.5, -euler - 2 * ln2},
                              {0.25, quarter},
                              {0.75, quarter + pi},
                              {-0.75, quarter + 4.0 / 3},
                              {-0.5, -euler - 2 * ln2 + 2}};
  for (const auto& [x, y] : points) {
    CHECK(kiln::cpu::reduce_max(digamma(kiln::cpu::splat<4>(x))) == doctest::Approx(y).epsilon(1e-14));
  }
  double harmonic = 0;
  for (int n = 1; n < 100; ++n) {
    CHECK(kiln::cpu::reduce_max(digamma(kiln::cpu::splat<4>(static_cast<double>(n)))) ==
          doctest::Approx(harmonic - euler).epsilon(1e-14));
    harmonic += 1.0 / n;
  }
}
TEST_CASE("digamma: is the slope of lgamma, below zero too") {
  for (double x = -4.9; x < 30; x += 0.31) {
    const long double h = 1e-5L, at = x;
    const long double slope = (std::lgamma(at + h) - std::lgamma(at - h)) / (2 * h);
    CHECK(kiln::cpu::reduce_max(digamma(kiln::cpu::splat<4>(x))) ==
          doctest::Approx(static_cast<double>(slope)).epsilon(1e-6));
  }
}
TEST_CASE("digamma: poles and infinities are PyTorch's") {
  const auto at = [](double x) { return kiln::cpu::to_array(digamma(kiln::cpu::splat<4>(x)))[0]; };
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(at(0.0) == -infinity);
  CHECK(at(-0.0) == infinity);
  CHECK(std::isnan(at(-3.0)));
  CHECK(std::isnan(at(-infinity)));
  CHECK(at(infinity) == infinity);
  CHECK(std::isnan(at(std::nan(""))));
}
