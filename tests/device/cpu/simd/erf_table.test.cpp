// SPDX-License-Identifier: BSL-1.0
// The polynomials by table, evaluated in scalar code against std::erf on their own intervals, and the lookup itself.
#include <kiln/device/cpu/simd/erf_table.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

TEST_CASE("erf_table: each row of coefficients is erf(x) / x on its interval") {
  const double width = static_cast<double>(kiln::cpu::erf_interval);
  double most = 0;
  for (int n = 0; n < 16; ++n) {
    for (int k = -50; k <= 50; ++k) {
      const double t = width * k / 100, x = n * width + t;
      if (!(x > 0)) continue;
      double y = 0;
      for (int j = 5; j >= 0; --j) y = y * t + static_cast<double>(kiln::cpu::erf_coefficients[j][n]);
      most = std::max(most, std::abs(y * x / std::erf(x) - 1));
    }
  }
  CHECK(most < 0x1p-23);  // 2^-28 of the polynomial, and the coefficients' own rounding to float
}

#if defined(__AVX512F__)
TEST_CASE("erf_table: lanes in different intervals get their own polynomial") {
  float xs[16], ys[16];
  for (int i = 0; i < 16; ++i) xs[i] = static_cast<float>(i * 5 % 16) * 0.25f;
  kiln::cpu::native_t<float, 16> x;
  std::memcpy(&x, xs, sizeof(x));
  const auto y = kiln::cpu::erf_by_table(kiln::cpu::lanes<float, 16>(x)).v;
  std::memcpy(ys, &y, sizeof(y));
  for (int i = 0; i < 16; ++i) CHECK(ys[i] == doctest::Approx(std::erf(static_cast<double>(xs[i]))).epsilon(3e-7));
}
#endif
