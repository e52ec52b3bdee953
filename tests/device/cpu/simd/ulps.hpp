// SPDX-License-Identifier: BSL-1.0
// How far a vector function is from its oracle: errors in units of the last place over an ordinary range, samples of
// the whole exponent range, and special values, where class and sign have to agree exactly.
#pragma once

#include <kiln/device/cpu/simd/all.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace simd_test {

using kiln::cpu::lanes;

/// The type an oracle computes in: more digits than T.
template <class T>
using exact_type = std::conditional_t<sizeof(T) == 4, double, long double>;

/// The distance between numbers of type T at `y`.
template <class T>
exact_type<T> last_place(exact_type<T> y) {
  using limits = std::numeric_limits<T>;
  int exponent = limits::min_exponent;
  if (y != 0) std::frexp(y, &exponent);
  return std::ldexp(exact_type<T>(1), std::max(exponent, limits::min_exponent) - limits::digits);
}

inline constexpr double not_rounding = 1e9;  // not a matter of rounding

/// Error of `got` in units of the last place of `want`; `not_rounding` where NaN, infinity or the sign of a zero
/// differ.
template <class T>
double ulps(T got, exact_type<T> want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : not_rounding;
  if (std::isnan(got)) return not_rounding;
  const T rounded = static_cast<T>(want);
  if (got == rounded && (got != 0 || std::signbit(got) == std::signbit(rounded))) {
    return std::isinf(got)
               ? 0
               : static_cast<double>(std::abs(static_cast<exact_type<T>>(got) - want) / last_place<T>(want));
  }
  if (std::isinf(want) || (got == 0 && rounded == 0)) return not_rounding;
  // An overflow one way or the other is as far as the end of the range is from the exact value.
  const auto reached = std::isinf(got)
                           ? std::copysign(std::ldexp(exact_type<T>(1), std::numeric_limits<T>::max_exponent),
                                           static_cast<exact_type<T>>(got))
                           : static_cast<exact_type<T>>(got);
  return static_cast<double>(std::abs(reached - want) / last_place<T>(want));
}

template <class T>
std::vector<T> special_values() {
  using limits = std::numeric_limits<T>;
  std::vector<T> out;
  for (const T size : {T(0), limits::denorm_min(), limits::min(), std::nextafter(limits::min(), T(0)),
                       limits::epsilon(), T(0.5), T(1), std::nextafter(T(1), T(2)), std::nextafter(T(1), T(0)), T(1.5),
                       T(2), T(3), T(1e5), T(0x1p31), limits::max(), limits::infinity(), limits::quiet_NaN()}) {
    out.push_back(size);
    out.push_back(-size);
  }
  return out;
}

/// The special values, `count` numbers evenly from `low` to `high`, and as many log-spaced over all exponents.
template <class T>
std::vector<T> samples(double low, double high, int count) {
  std::vector<T> out = special_values<T>();
  const double first = std::log2(static_cast<double>(std::numeric_limits<T>::min())) - 10;
  const double last = std::numeric_limits<T>::max_exponent - 0.001;
  for (int i = 0; i < count; ++i) {
    const double part = (i + 0.37) / count;
    out.push_back(static_cast<T>(low + (high - low) * part));
    const T wide = static_cast<T>(std::exp2(first + (last - first) * part));
    out.push_back(i % 2 == 0 ? wide : -wide);
  }
  return out;
}

template <class T>
struct worst_case {
  double error = 0;
  T x{}, y{};
};

/// Largest error of the function `f` of lanes over `xs` (and `ys`).
template <int N, class T, class F, class Oracle>
worst_case<T> worst(F f, Oracle oracle, std::vector<T> xs) {
  while (xs.size() % static_cast<std::size_t>(N) != 0) xs.push_back(T(1));
  worst_case<T> out;
  T results[static_cast<std::size_t>(N)];
  for (std::size_t i = 0; i < xs.size(); i += static_cast<std::size_t>(N)) {
    kiln::cpu::store(results, f(kiln::cpu::load<N>(xs.data() + i)));
    for (std::size_t k = 0; k < static_cast<std::size_t>(N); ++k) {
      const double error = ulps<T>(results[k], oracle(static_cast<exact_type<T>>(xs[i + k])));
      if (!(error <= out.error)) out = {error, xs[i + k], T(0)};
    }
  }
  return out;
}
template <int N, class T, class F, class Oracle>
worst_case<T> worst(F f, Oracle oracle, std::vector<T> xs, std::vector<T> ys) {
  while (xs.size() % static_cast<std::size_t>(N) != 0) {
    xs.push_back(T(1));
    ys.push_back(T(1));
  }
  worst_case<T> out;
  T results[static_cast<std::size_t>(N)];
  for (std::size_t i = 0; i < xs.size(); i += static_cast<std::size_t>(N)) {
    kiln::cpu::store(results, f(kiln::cpu::load<N>(xs.data() + i), kiln::cpu::load<N>(ys.data() + i)));
    for (std::size_t k = 0; k < static_cast<std::size_t>(N); ++k) {
      const double error =
          ulps<T>(results[k], oracle(static_cast<exact_type<T>>(xs[i + k]), static_cast<exact_type<T>>(ys[i + k])));
      if (!(error <= out.error)) out = {error, xs[i + k], ys[i + k]};
    }
  }
  return out;
}

template <class T>
void check_within(const char* name, int n, worst_case<T> found, double limit) {
  const std::string what = std::string(name) + " of " + std::to_string(n) + (sizeof(T) == 4 ? " floats" : " doubles");
  INFO(what, " at ", found.x, ", ", found.y);
  CHECK(found.error <= limit);
}

/// Checks a function of one argument at every width against the limits that `accuracy.hpp` states under its name.
template <class F, class Oracle>
void check_accuracy(const char* name, F f, Oracle oracle, double low, double high, int count = 4000) {
  const auto limit = kiln::cpu::accuracy_of(name);
  const auto single = samples<float>(low, high, count);
  check_within(name, 4, worst<4>(f, oracle, single), limit.single_ulps);
  check_within(name, 8, worst<8>(f, oracle, single), limit.single_ulps);
  check_within(name, 16, worst<16>(f, oracle, single), limit.single_ulps);
  const auto wide = samples<double>(low, high, count);
  check_within(name, 2, worst<2>(f, oracle, wide), limit.double_ulps);
  check_within(name, 4, worst<4>(f, oracle, wide), limit.double_ulps);
  check_within(name, 8, worst<8>(f, oracle, wide), limit.double_ulps);
}

/// The same for a function of two arguments: every pair of special values, and a grid turned so that no two points
/// share a coordinate.
template <class T>
void pairs(std::vector<T>& xs, std::vector<T>& ys, double low_x, double high_x, double low_y, double high_y,
           int count) {
  for (const T x : special_values<T>()) {
    for (const T y : special_values<T>()) {
      xs.push_back(x);
      ys.push_back(y);
    }
  }
  const auto more_x = samples<T>(low_x, high_x, count), more_y = samples<T>(low_y, high_y, count);
  for (std::size_t i = 0; i < more_x.size(); ++i) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{389}, std::size_t{1543}}) {
      xs.push_back(more_x[i]);
      ys.push_back(more_y[(i * step + 77) % more_y.size()]);
    }
  }
}
template <class F, class Oracle>
void check_accuracy_of_two(const char* name, F f, Oracle oracle, double low_x, double high_x, double low_y,
                           double high_y) {
  const auto limit = kiln::cpu::accuracy_of(name);
  std::vector<float> x, y;
  pairs(x, y, low_x, high_x, low_y, high_y, 3000);
  check_within(name, 4, worst<4>(f, oracle, x, y), limit.single_ulps);
  check_within(name, 8, worst<8>(f, oracle, x, y), limit.single_ulps);
  check_within(name, 16, worst<16>(f, oracle, x, y), limit.single_ulps);
  std::vector<double> wide_x, wide_y;
  pairs(wide_x, wide_y, low_x, high_x, low_y, high_y, 3000);
  check_within(name, 2, worst<2>(f, oracle, wide_x, wide_y), limit.double_ulps);
  check_within(name, 4, worst<4>(f, oracle, wide_x, wide_y), limit.double_ulps);
  check_within(name, 8, worst<8>(f, oracle, wide_x, wide_y), limit.double_ulps);
}

}  // namespace simd_test
