// SPDX-License-Identifier: BSL-1.0
// The polynomials by table, evaluated in scalar code against std::tanh on their own intervals, and the lookup itself.
#include <kiln/device/cpu/simd/tanh_table.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

TEST_CASE("tanh_table: each row of coefficients is tanh on its interval") {
  const double width = static_cast<double>(kiln::cpu::tanh_interval);
  double most = 0;
  for (int n = 0; n < 32; ++n) {
    for (int k = -50; k <= 50; ++k) {
      const double t = width * k / 100, x = n * width + t;
      if (!(x > 0)) continue;
      double y = 0;
      for (int j = 5; j >= 0; --j) y = y * t + static_cast<double>(kiln::cpu::tanh_coefficients[j][n]);
      most = std::max(most, std::abs(y / std::tanh(x) - 1));
    }
  }
  CHECK(most < 0x1.8p-24);
}

#if defined(__AVX512F__)
namespace {
void table_of(const float (&xs)[16], float (&ys)[16]) {
  kiln::cpu::native_t<float, 16> x;
  std::memcpy(&x, xs, sizeof(x));
  const auto y = kiln::cpu::tanh_by_table(kiln::cpu::lanes<float, 16>(x)).v;
  std::memcpy(ys, &y, sizeof(y));
}
}  // namespace

TEST_CASE("tanh_table: lanes in different intervals get their own polynomial") {
  for (const float sign : {1.0f, -1.0f}) {
    float xs[16], ys[16];
    for (int i = 0; i < 16; ++i) xs[i] = sign * static_cast<float>(i * 5 % 16) * 0.55f;
    table_of(xs, ys);
    for (int i = 0; i < 16; ++i) CHECK(ys[i] == doctest::Approx(std::tanh(static_cast<double>(xs[i]))).epsilon(2e-7));
  }
}
TEST_CASE("tanh_table: zeros keep their sign, small numbers all digits; far out it is 1, and of NaN NaN") {
  constexpr float inf = std::numeric_limits<float>::infinity(), least = std::numeric_limits<float>::denorm_min();
  const float xs[16] = {0.0f, -0.0f, least, -least, 1e-38f, -1e-20f, 1e-6f, 9.02f, -9.02f, 9.5f, 1e30f, inf, -inf,
                        std::numeric_limits<float>::quiet_NaN(), 9.0f, -8.9f};
  float ys[16];
  table_of(xs, ys);
  for (int i = 0; i < 7; ++i) {
    CHECK(ys[i] == xs[i]);
    CHECK(std::signbit(ys[i]) == std::signbit(xs[i]));
  }
  for (const int i : {7, 9, 10, 11}) CHECK(ys[i] == 1.0f);
  for (const int i : {8, 12}) CHECK(ys[i] == -1.0f);
  CHECK(std::isnan(ys[13]));
  for (const int i : {14, 15}) {
    CHECK(ys[i] == doctest::Approx(std::tanh(static_cast<double>(xs[i]))).epsilon(1e-7));
    CHECK(std::abs(ys[i]) <= 1.0f);
  }
}
#endif
