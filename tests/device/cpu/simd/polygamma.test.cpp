// SPDX-License-Identifier: BSL-1.0
// polygamma against closed forms, the sum that defines it, and the slope of the order below.
#include "ulps.hpp"

#include <kiln/device/cpu/simd/polygamma.hpp>

#include <numbers>

namespace {

const double infinity = std::numeric_limits<double>::infinity();

double at(double n, double x) {
  return kiln::cpu::to_array(polygamma(kiln::cpu::lanes<double, 4>(n), kiln::cpu::lanes<double, 4>(x)))[0];
}

// (-1)^(n+1) n! times the sum of (x + k)^-(n+1): many terms, then the integral of the rest from a half step before.
long double summed(int n, long double x) {
  long double sum = 0, factorial = 1;
  const int terms = 100000;
  for (int k = terms - 1; k >= 0; --k) sum += std::pow(x + k, static_cast<long double>(-(n + 1)));
  sum += std::pow(x + terms - 0.5L, static_cast<long double>(-n)) / n;
  for (int k = 2; k <= n; ++k) factorial *= k;
  return (n % 2 == 1 ? 1 : -1) * factorial * sum;
}

}  // namespace

TEST_CASE("polygamma: has its closed forms") {
  const double pi = std::numbers::pi, zeta3 = 1.2020569031595942, catalan = 0.91596559417721902;
  CHECK(at(1, 1) == doctest::Approx(pi * pi / 6).epsilon(1e-14));
  CHECK(at(1, 0.5) == doctest::Approx(pi * pi / 2).epsilon(1e-14));
  CHECK(at(1, 0.25) == doctest::Approx(pi * pi + 8 * catalan).epsilon(1e-14));
  CHECK(at(1, -0.5) == doctest::Approx(pi * pi / 2 + 4).epsilon(1e-14));
  CHECK(at(20, -0.5) == doctest::Approx(at(20, 1.5)).epsilon(1e-14));  // two huge terms cancel
  CHECK(at(2, 1) == doctest::Approx(-2 * zeta3).epsilon(1e-14));
  CHECK(at(2, 0.5) == doctest::Approx(-14 * zeta3).epsilon(1e-14));
  CHECK(at(3, 1) == doctest::Approx(std::pow(pi, 4) / 15).epsilon(1e-14));
}

TEST_CASE("polygamma: is the sum that defines it, below zero too") {
  for (int n : {1, 2, 3, 7, 20, 60}) {
    for (double x : {0.01, 0.3, 1.0, 2.5, 9.9, 15.99, 16.0, 40.0, 1000.0, -0.001, -0.375, -3.75, -20.125}) {
      INFO("order ", n, " at ", x);
      CHECK(at(n, x) == doctest::Approx(static_cast<double>(summed(n, x))).epsilon(2e-13));
    }
  }
}

TEST_CASE("polygamma: order 0 is digamma, and each order is the slope of the one before") {
  for (double x : {0.4, 1.7, 12.0, -1.3, -100.6}) {
    CHECK(at(0, x) == kiln::cpu::digamma_of(x));
    for (int n = 0; n < 4; ++n) {
      const double h = 1e-5 * (x > 0 ? x : std::abs(x - std::nearbyint(x)));
      INFO("order ", n, " at ", x);
      CHECK(at(n + 1, x) == doctest::Approx((at(n, x + h) - at(n, x - h)) / (2 * h)).epsilon(1e-5));
    }
  }
}

TEST_CASE("polygamma: poles, infinities and what is not an order") {
  CHECK(at(1, 0.0) == infinity);
  CHECK(at(1, -3.0) == infinity);
  CHECK(at(2, 0.0) == -infinity);
  CHECK(at(1, infinity) == 0);
  CHECK(at(1, 1e300) == doctest::Approx(1e-300));
  CHECK(std::isnan(at(1, -infinity)));
  CHECK(std::isnan(at(1, std::nan(""))));
  CHECK(std::isnan(at(1.5, 1.0)));
  CHECK(std::isnan(at(-1, 1.0)));
  CHECK(std::isnan(at(171, 1.0)));
  CHECK(std::isnan(at(std::nan(""), 1.0)));
  CHECK(std::isfinite(at(170, 1.0)));
}
