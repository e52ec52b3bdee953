// SPDX-License-Identifier: BSL-1.0
// Rounding to integers, signs, extremes and roots, against std:: and PyTorch's rules for NaN.
#include "ulps.hpp"

#include "lane_values.hpp"

using namespace simd_test;

TEST_CASE_TEMPLATE("rounding: floor ceil trunc round abs agree with std:: exactly, signs of zeros included", T, float,
                   double) {
  const std::vector<T> xs = samples<T>(-5, 5, 3000);
  std::vector<T> all = xs;
  for (int k = 0; k < 60; ++k) {
    for (const T shift : {T(0), T(0.25), T(0.5), T(0.75)}) {
      all.push_back(std::ldexp(T(1), k) + shift);
      all.push_back(-std::ldexp(T(1), k) - shift);
      all.push_back(static_cast<T>(k) - T(30.5));
    }
  }
  const auto check = [&](auto f, auto oracle) {
    CHECK(worst<2>(f, oracle, all).error == 0);
    CHECK(worst<8>(f, oracle, all).error == 0);
    CHECK(worst<64>(f, oracle, all).error == 0);
  };
  check([](auto x) { return floor(x); }, [](auto x) { return std::floor(x); });
  check([](auto x) { return ceil(x); }, [](auto x) { return std::ceil(x); });
  check([](auto x) { return trunc(x); }, [](auto x) { return std::trunc(x); });
  check([](auto x) { return round(x); }, [](auto x) { return std::nearbyint(x); });
  check([](auto x) { return abs(x); }, [](auto x) { return std::abs(x); });
  // The form for machines without the instruction, wherever the tests run.
  using kiln::cpu::rounding;
  check([](auto x) { return kiln::cpu::rounded_by_shifting<rounding::down>(x); }, [](auto x) { return std::floor(x); });
  check([](auto x) { return kiln::cpu::rounded_by_shifting<rounding::up>(x); }, [](auto x) { return std::ceil(x); });
  check([](auto x) { return kiln::cpu::rounded_by_shifting<rounding::to_zero>(x); },
        [](auto x) { return std::trunc(x); });
  check([](auto x) { return kiln::cpu::rounded_by_shifting<rounding::nearest_even>(x); },
        [](auto x) { return std::nearbyint(x); });
}

TEST_CASE("rsqrt: within its stated error of 1 / sqrt") {
  check_accuracy(
      "rsqrt", [](auto x) { return rsqrt(x); }, [](auto x) { return 1 / std::sqrt(x); }, 0, 10);
}

TEST_CASE_TEMPLATE("sign: is -1, 0 or 1, 0 for both zeros, NaN for NaN", T, float, double) {
  every_width([]<int N>() {
    const auto at = [](T x) { return to_array(sign(lanes<T, N>(x)))[0]; };
    CHECK(at(T(-3)) == T(-1));
    CHECK(at(T(1e-40)) == (T(1e-40) > 0 ? T(1) : T(0)));
    CHECK(same(at(T(-0.0)), T(0)));
    CHECK(at(std::numeric_limits<T>::infinity()) == T(1));
    CHECK(std::isnan(at(std::numeric_limits<T>::quiet_NaN())));
  });
}
TEST_CASE("sign and abs of integers: the most negative one is its own size") {
  constexpr auto least = std::numeric_limits<std::int32_t>::min();
  CHECK(to_array(abs(kiln::cpu::splat<8>(least)))[0] == least);
  CHECK(to_array(abs(kiln::cpu::splat<8>(std::int32_t{-5})))[0] == 5);
  CHECK(to_array(sign(kiln::cpu::splat<8>(std::int64_t{-5})))[0] == -1);
  CHECK(to_array(sign(kiln::cpu::splat<8>(std::uint8_t{200})))[0] == 1);
}

TEST_CASE_TEMPLATE("minimum and maximum: a NaN on either side wins", T, float, double) {
  every_width([]<int N>() {
    const lanes<T, N> nan(std::numeric_limits<T>::quiet_NaN()), one(T(1)), two(T(2));
    CHECK(all(isnan(minimum(nan, one))));
    CHECK(all(isnan(minimum(one, nan))));
    CHECK(all(isnan(maximum(nan, one))));
    CHECK(all(isnan(maximum(one, nan))));
    CHECK(all(minimum(one, two) == one));
    CHECK(all(minimum(two, one) == one));
    CHECK(all(maximum(one, two) == two));
    CHECK(all(maximum(two, one) == two));
  });
}

TEST_CASE_TEMPLATE("nan_or: a NaN stays, beside every other value the second operand counts", T, float, double) {
  every_width([]<int N>() {
    for (const T x : special_values<T>())
      for (const T y : special_values<T>()) {
        const T found = to_array(nan_or(lanes<T, N>(x), lanes<T, N>(y)))[0];
        CHECK((std::isnan(x) ? std::isnan(found) : same(found, y)));
      }
  });
}

TEST_CASE_TEMPLATE("isnan isinf isfinite copysign: as std:: for the special values", T, float, double) {
  every_width([]<int N>() {
    for (const T x : special_values<T>()) {
      CHECK(all(isnan(lanes<T, N>(x))) == std::isnan(x));
      CHECK(all(isinf(lanes<T, N>(x))) == std::isinf(x));
      CHECK(all(isfinite(lanes<T, N>(x))) == std::isfinite(x));
      CHECK(same(to_array(copysign(lanes<T, N>(x), lanes<T, N>(T(-0.0))))[0], std::copysign(x, T(-1))));
    }
  });
}
