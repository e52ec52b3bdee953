// SPDX-License-Identifier: BSL-1.0
// The functions of the normal distribution against std:: in more digits; vectors of all widths, and one number.
#include "ulps.hpp"

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
