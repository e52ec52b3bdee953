// SPDX-License-Identifier: BSL-1.0
// fmod, remainder and the integer quotient, against std::fmod, Python's rule and 128-bit arithmetic.
#include "ulps.hpp"

#include "lane_values.hpp"

#include <kiln/core/error.hpp>

using namespace simd_test;

TEST_CASE_TEMPLATE("remainder: integers by all three rules, the most negative by -1 included", T, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  __extension__ using wide = __int128;
  every_width([]<int N>() {
    int wrong = 0;
    for (std::uint64_t round = 0; round < 20; ++round) {
      auto a = some_values<T, N>(2 * round), b = some_values<T, N>(2 * round + 1);
      a[0] = std::numeric_limits<T>::min();
      b[0] = static_cast<T>(-1);
      for (T& divisor : b) divisor = divisor == T{0} ? T{7} : divisor;
      const auto x = as_lanes<T, N>(a), y = as_lanes<T, N>(b);
      wrong += differences(fmod(x, y), [&](std::size_t i) { return static_cast<T>(wide{a[i]} % wide{b[i]}); });
      wrong += differences(remainder(x, y), [&](std::size_t i) {
        const wide r = wide{a[i]} % wide{b[i]};
        return static_cast<T>(r != 0 && (r < 0) != (wide{b[i]} < 0) ? r + wide{b[i]} : r);
      });
      wrong += differences(kiln::cpu::truncating_divide(x, y),
                           [&](std::size_t i) { return static_cast<T>(wide{a[i]} / wide{b[i]}); });
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("remainder: an integer zero anywhere in the divisor throws a sentence") {
  values<std::int32_t, 16> b{};
  b.fill(3);
  const auto x = kiln::cpu::splat<16>(std::int32_t{7});
  CHECK_NOTHROW(remainder(x, as_lanes<std::int32_t, 16>(b)));
  b[11] = 0;
  const auto y = as_lanes<std::int32_t, 16>(b);
  CHECK_THROWS_AS(remainder(x, y), kiln::value_error);
  CHECK_THROWS_AS(kiln::cpu::truncating_divide(x, y), kiln::value_error);
  CHECK_THROWS_WITH(
      fmod(x, y),
      "fmod: integer division by zero; mask the zeros of the divisor with where(), or compute in floating point");
}

TEST_CASE("fmod: of floats is std::fmod exactly") {
  check_accuracy_of_two(
      "fmod", [](auto x, auto y) { return fmod(x, y); }, [](auto x, auto y) { return std::fmod(x, y); }, -10, 10, -3,
      3);
}
TEST_CASE("remainder: of floats has the sign of the divisor, as in Python") {
  const auto at = [](float x, float y) {
    return to_array(remainder(kiln::cpu::splat<8>(x), kiln::cpu::splat<8>(y)))[0];
  };
  CHECK(at(5.5f, 2.0f) == 1.5f);
  CHECK(at(-5.5f, 2.0f) == 0.5f);
  CHECK(at(5.5f, -2.0f) == -0.5f);
  CHECK(at(-5.5f, -2.0f) == -1.5f);
  CHECK(at(4.0f, -2.0f) == 0.0f);
  CHECK(std::isnan(at(1.0f, 0.0f)));
  CHECK(std::isnan(at(INFINITY, 2.0f)));
  CHECK(at(1.0f, INFINITY) == 1.0f);
}
