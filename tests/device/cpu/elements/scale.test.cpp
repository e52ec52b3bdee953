// SPDX-License-Identifier: BSL-1.0
// Elements times a number, against one multiplication each.
#include <kiln/device/cpu/elements/scale.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace cpu = kiln::cpu;

namespace {

template <class T>
void check_products(double number) {
  for (const std::int64_t n : {0, 1, 7, 16, 63, 64, 1000, 100003}) {
    std::vector<T> got(static_cast<std::size_t>(n) + 1, T(7.0f)), expected = got;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      const float value = static_cast<float>(i % 251) - 125;
      got[i] = T(value);
      expected[i] =
          value == 0 ? T(0.0f) : T(static_cast<kiln::compute_t<T>>(got[i]) * static_cast<kiln::compute_t<T>>(number));
    }
    CHECK(cpu::scale(got.data(), n, number));
    bool same = true;
    for (std::size_t i = 0; i < got.size(); ++i)
      same &= static_cast<double>(got[i]) == static_cast<double>(expected[i]);
    CHECK_MESSAGE(same, n);
  }
}

}  // namespace

TEST_CASE("scale: each element times the number, and none behind them") {
  check_products<float>(1.0 / 3);
  check_products<double>(-0.7);
  check_products<kiln::half>(0.3);
  check_products<kiln::bfloat16>(1.0 / 1024);
}

TEST_CASE("scale: says where something is not finite, or becomes so") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {inf, -inf, nan, 3e38F})
    for (const std::size_t at : {0U, 5U, 39U, 99999U}) {
      std::vector<float> x(100000, 1.0F);
      x[at] = bad;
      CHECK_FALSE(cpu::scale(x.data(), 100000, 4));
      CHECK(x[at ^ 1U] == 4);
    }
  std::vector<kiln::half> x(40, kiln::half(6e4F));
  CHECK(cpu::scale(x.data(), 40, 1));
  CHECK_FALSE(cpu::scale(x.data(), 40, 2));
}

TEST_CASE("scale: zeros become +0 whatever they meet, but an infinity times nothing is none") {
  std::vector<double> x{0.0, -0.0, 2.0};
  CHECK_FALSE(cpu::scale(x.data(), 3, std::numeric_limits<double>::infinity()));
  CHECK((x[0] == 0 && x[1] == 0 && !std::signbit(x[1]) && std::isinf(x[2])));
  CHECK_FALSE(cpu::scale(x.data(), 3, 0));
  CHECK(std::isnan(x[2]));
}
