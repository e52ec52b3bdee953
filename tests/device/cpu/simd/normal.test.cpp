// SPDX-License-Identifier: BSL-1.0
// The functions of the normal distribution against std:: in more digits; vectors of all widths, and one number.
#include "ulps.hpp"

#include <bit>

namespace {

constexpr auto bell_of = [](auto x) { return std::exp(-x * x / 2); };
// A double has more digits than float's square and erfc's argument need, a long double than double's.
constexpr auto share_of = [](auto x) { return std::erfc(-x * std::sqrt(decltype(x)(0.5L))) / 2; };

}  // namespace

TEST_CASE("gaussian: within its stated error down to where it underflows") {
  simd_test::check_accuracy(
      "gaussian", [](auto x) { return gaussian(x); }, bell_of, -14.6, 14.6, 40000);
  simd_test::check_accuracy(
      "gaussian", [](auto x) { return gaussian(x); }, bell_of, -39, 39);
}
TEST_CASE("ndtr: within its stated error down to where it underflows, and 1 above") {
  simd_test::check_accuracy(
      "ndtr", [](auto x) { return ndtr(x); }, share_of, -14.6, 9, 40000);
  simd_test::check_accuracy(
      "ndtr", [](auto x) { return ndtr(x); }, share_of, -39, 9);
}
TEST_CASE("gaussian and ndtr: within their stated errors where roundings add up, in floats of all sizes") {
  std::vector<float> at{-0x1.0966p-8f, -0x1.447b1cp-7f, -0x1.5af0c4p-1f, -0x1.81b3cp-1f, 12.49219f};
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(0x1p-20f); bits < std::bit_cast<std::uint32_t>(14.6f);
       bits += 401)
    for (const float sign : {-1.0f, 1.0f}) at.push_back(sign * std::bit_cast<float>(bits));
  const auto check = [&](const char* name, auto f, auto oracle) {
    const double limit = kiln::cpu::accuracy_of(name).single_ulps;
    simd_test::check_within(name, 4, simd_test::worst<4>(f, oracle, at), limit);
    simd_test::check_within(name, 8, simd_test::worst<8>(f, oracle, at), limit);
    simd_test::check_within(name, 16, simd_test::worst<16>(f, oracle, at), limit);
  };
  check(
      "gaussian", [](auto x) { return gaussian(x); }, bell_of);
  check(
      "ndtr", [](auto x) { return ndtr(x); }, share_of);
}
TEST_CASE("ndtr: each column of its table is e^(t^2/2) (1 - Phi(t)) on its interval") {
  const auto& c = kiln::cpu::tail_coefficients;
  double most = 0;
  for (int n = 0; n < 16; ++n) {
    // The last two bits of the exponent of t + 1, and the first two of its fraction.
    const double width = std::ldexp(1.0, n / 4 == 3 ? -2 : n / 4 - 1), first = (4 + n % 4) * width;
    CHECK(static_cast<double>(c[7][n]) + 1 == first + width / 2);
    for (int k = 0; k <= 100; ++k) {
      const double t = first - 1 + width * k / 100, d = t - static_cast<double>(c[7][n]);
      double y = 0;
      for (int j = 6; j >= 0; --j) y = y * d + static_cast<double>(c[j][n]);
      most = std::max(most, std::abs(y / (std::exp(t * t / 2) * share_of(-t)) - 1));
    }
  }
  CHECK(most < 0x1p-24);  // 2^-27.6 of the polynomial, and the coefficients' own rounding to float
}
TEST_CASE("gaussian and ndtr of one number: 2 and 5 ulp, with the same special values") {
  const auto check = []<class T>(T x) {
    const auto exact = static_cast<simd_test::exact_type<T>>(x);
    CHECK(simd_test::ulps<T>(kiln::cpu::gaussian_of(x), bell_of(exact)) < 2);
    CHECK(simd_test::ulps<T>(kiln::cpu::ndtr_of(x), share_of(exact)) < 5);
  };
  for (double x = -38.9; x < 9; x += 0.0037) check(x), check(static_cast<float>(x));
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(kiln::cpu::gaussian_of(-infinity) == 0);
  CHECK(kiln::cpu::gaussian_of(infinity) == 0);
  CHECK(std::isnan(kiln::cpu::gaussian_of(nan)));
  CHECK(kiln::cpu::ndtr_of(-infinity) == 0);
  CHECK(kiln::cpu::ndtr_of(infinity) == 1);
  CHECK(std::isnan(kiln::cpu::ndtr_of(nan)));
}
