// SPDX-License-Identifier: BSL-1.0
// What every elementwise op is put through: values of float and double against an oracle with more digits, over an
// ordinary range, all exponents and special values, at lengths that end inside a register, with numbers and 0-d tensors
// on either side; the gradient against finite differences, and float's against double's; integers of every size.
// check_unary<Op>, check_binary<Op> and check_integers<Op> also enter Op into the list of what is tested, which
// every_op.test.cpp compares with the list of all ops.
#pragma once

#include <kiln/autograd/check_gradient.hpp>
#include <kiln/ops/all.hpp>

#include "device/cpu/simd/ulps.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace battery {

using namespace kiln;
using simd_test::exact_type;

/// Names of the ops that some test in this program goes through.
inline std::set<std::string_view>& tested_ops() {
  static std::set<std::string_view> names;
  return names;
}
template <class Op>
inline const bool is_tested = tested_ops().insert(Op::name).second;

template <class T>
Tensor<T> tensor_of(const T* values, std::size_t n) {
  Tensor<T> x(new_tensor(dtype_of<T>, {static_cast<std::int64_t>(n)}));
  std::copy(values, values + n, x.data());
  return x;
}
template <class T>
Tensor<T> tensor_of(const std::vector<T>& values) {
  return tensor_of(values.data(), values.size());
}

/// The errors allowed: in units of the last place of the result, or of the larger of result and operand where the op
/// has to subtract what is near equal (`of_operand`).
struct limits_of_error {
  double single = 0, twice = 0;
  bool of_operand = false;
  bool sign_of_zero = true;
};
template <class Op>
limits_of_error stated() {
  const cpu::accuracy a = cpu::accuracy_of(Op::name);
  return {a.single_ulps, a.double_ulps};
}
inline limits_of_error exactly() {
  return {0, 0};
}
inline limits_of_error rounded() {
  return {0.5, 0.5};
}

/// Where to test: values in [low, high] besides the special ones; gradients at points of [smooth_low, smooth_high].
struct range {
  double low = -20, high = 20, smooth_low = -2, smooth_high = 2;
};

template <class T>
double error_of(T got, exact_type<T> want, exact_type<T> operand, const limits_of_error& limits) {
  if (!limits.sign_of_zero && got == 0 && static_cast<T>(want) == 0) return 0;
  if (limits.of_operand && std::isfinite(want) && std::isfinite(got) && std::isfinite(operand) &&
      std::abs(operand) > std::abs(want))
    return static_cast<double>(std::abs(static_cast<exact_type<T>>(got) - want) / simd_test::last_place<T>(operand));
  return simd_test::ulps<T>(got, want);
}

/// The largest error found so far, and where.
template <class T>
struct worst_error {
  double error = -1;
  std::string place;
  void see(T got, exact_type<T> want, const limits_of_error& limits, T x, T y = T(0)) {
    const double e =
        error_of<T>(got, want, std::max<exact_type<T>>(std::abs(exact_type<T>(x)), std::abs(exact_type<T>(y))), limits);
    if (e <= error) return;
    error = e;
    place = message("at ", x, ", ", y, ": ", got, " instead of ", static_cast<T>(want));
  }
  void check(std::string_view name, const limits_of_error& limits) const {
    const double limit = sizeof(T) == 4 ? limits.single : limits.twice;
    const std::string type(kiln::name(dtype_of<T>));
    CHECK_MESSAGE(error <= limit, message(name, " of ", type, " ", place, ", ", error, " ulp"));
  }
};

inline constexpr std::size_t odd_lengths[] = {1, 15, 16, 17};

template <class T, class Call, class Oracle>
void check_values(std::string_view name, Call call, Oracle oracle, const limits_of_error& limits, const range& r) {
  const std::vector<T> xs = simd_test::samples<T>(r.low, r.high, 500);
  worst_error<T> worst;
  auto see = [&](std::size_t first, std::size_t n) {
    const Tensor<T> y = detail::untracked(call(tensor_of(xs.data() + first, n)));
    REQUIRE(y.numel() == static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n; ++i)
      worst.see(y.data()[i], oracle(static_cast<exact_type<T>>(xs[first + i])), limits, xs[first + i]);
  };
  see(0, xs.size());
  for (const std::size_t n : odd_lengths)
    for (std::size_t first = 0; first + n <= 60; ++first) see(first, n);
  worst.check(name, limits);
}

/// Points away from round numbers, where kinks are.
inline Tensor<double> smooth_points(double low, double high, int n = 24) {
  std::vector<double> at;
  for (int i = 0; i < n; ++i) at.push_back(low + (high - low) * (i + 0.3819660) / n);
  return tensor_of(at);
}
/// The gradients of all inputs, one after the other, where 1 arrives everywhere.
template <class T, class Call, class... X>
std::vector<T> gradients_of(Call call, X... x) {
  (x.requires_grad(), ...);
  const Tensor<T> y = call(x...);
  const Tensor<T> ones(new_tensor(dtype_of<T>, y.sizes()));
  std::fill(ones.data(), ones.data() + ones.numel(), T(1));
  if (y.needs_grad()) backward(y, ones);
  std::vector<T> all;
  auto add = [&](const Tensor<T>& t) {
    if (t.has_grad()) all.insert(all.end(), t.grad().data(), t.grad().data() + t.numel());
  };
  (add(x), ...);
  return all;
}
/// Gradients of float against those of double at the same points.
template <class Call, class... X>
void check_float_gradient(std::string_view name, Call call, const X&... points) {
  auto in_float = [](const Tensor<double>& x) { return tensor_of(std::vector<float>(x.data(), x.data() + x.numel())); };
  auto in_double = [](const Tensor<float>& x) {
    return tensor_of(std::vector<double>(x.data(), x.data() + x.numel()));
  };
  const auto single = gradients_of<float>(call, in_float(points)...);
  const auto twice = gradients_of<double>(call, in_double(in_float(points))...);
  REQUIRE(single.size() == twice.size());
  for (std::size_t i = 0; i < single.size(); ++i)
    CHECK_MESSAGE(static_cast<double>(single[i]) == doctest::Approx(twice[i]).epsilon(1e-4), name, ": gradient ", i,
                  " of float");
}

/// Value and gradient of an op of one operand.
template <class Op, class Call, class Oracle>
void check_unary(Call call, Oracle oracle, const limits_of_error& limits, const range& r = {}) {
  REQUIRE(is_tested<Op>);
  check_values<float>(Op::name, call, oracle, limits, r);
  check_values<double>(Op::name, call, oracle, limits, r);
  const Tensor<double> points = smooth_points(r.smooth_low, r.smooth_high);
  const auto check = check_gradient(call, points);
  CHECK_MESSAGE(check.agrees, Op::name, ": ", check.text);
  check_float_gradient(Op::name, call, points);
}

template <class T, class Call, class Oracle>
void check_pairs(std::string_view name, Call call, Oracle oracle, const limits_of_error& limits, const range& a,
                 const range& b) {
  worst_error<T> worst;
  auto see = [&](const Tensor<T>& y, std::size_t n, auto left, auto right) {
    REQUIRE(y.numel() == static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n; ++i)
      worst.see(y.data()[i], oracle(static_cast<exact_type<T>>(left(i)), static_cast<exact_type<T>>(right(i))), limits,
                left(i), right(i));
  };
  std::vector<T> xs, ys;
  simd_test::pairs<T>(xs, ys, a.low, a.high, b.low, b.high, 300);
  auto left = [&](std::size_t i) { return xs[i]; };
  auto right = [&](std::size_t i) { return ys[i]; };
  using detail::untracked;
  see(untracked(call(tensor_of(xs), tensor_of(ys))), xs.size(), left, right);
  for (const std::size_t n : odd_lengths)
    for (std::size_t first = 0; first + n <= xs.size(); first += 97)
      see(
          untracked(call(tensor_of(xs.data() + first, n), tensor_of(ys.data() + first, n))), n,
          [&](std::size_t i) { return xs[first + i]; }, [&](std::size_t i) { return ys[first + i]; });
  // A number, and a tensor without axes, on either side.
  std::vector<T> numbers = simd_test::special_values<T>();
  numbers.push_back(T(0.37));
  numbers.push_back(T(-7.25));
  const std::vector<T> some = simd_test::samples<T>(a.low, a.high, 9);
  const Tensor<T> x = tensor_of(some);
  auto each = [&](std::size_t i) { return some[i]; };
  for (const T s : numbers) {
    auto number = [&](std::size_t) { return s; };
    see(untracked(call(x, s)), some.size(), each, number);
    see(untracked(call(s, x)), some.size(), number, each);
    see(untracked(call(x, Tensor<T>(s))), some.size(), each, number);
    see(untracked(call(Tensor<T>(s), x)), some.size(), number, each);
  }
  worst.check(name, limits);
}

/// Value and gradients of an op of two operands.
template <class Op, class Call, class Oracle>
void check_binary(Call call, Oracle oracle, const limits_of_error& limits, const range& a = {}, const range& b = {}) {
  REQUIRE(is_tested<Op>);
  check_pairs<float>(Op::name, call, oracle, limits, a, b);
  check_pairs<double>(Op::name, call, oracle, limits, a, b);
  // The second operand's points are turned, so that the two do not grow together; and it is broadcast once.
  const Tensor<double> x = smooth_points(a.smooth_low, a.smooth_high), y = smooth_points(b.smooth_high, b.smooth_low);
  const auto check = check_gradient(call, x, y);
  CHECK_MESSAGE(check.agrees, Op::name, ": ", check.text);
  const auto broadcast = check_gradient(call, x, Tensor<double>{b.smooth_low + 0.61 * (b.smooth_high - b.smooth_low)});
  CHECK_MESSAGE(broadcast.agrees, Op::name, ", broadcast: ", broadcast.text);
  check_float_gradient(Op::name, call, x, y);
}

/// Values of an integer type: its extremes, what is near them and near zero, and pseudo-random ones.
template <class T>
std::vector<T> integers() {
  using limits = std::numeric_limits<T>;
  std::vector<T> out{
      T(0),  T(1),  T(2), T(3), T(7), limits::max(), T(limits::max() - 1), limits::min(), T(limits::min() + 1),
      T(-1), T(-2), T(-7)};
  std::uint64_t state = 12345;
  for (int i = 0; i < 29; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out.push_back(static_cast<T>(state >> 33));
  }
  return out;
}

template <Expression E>
auto evaluated(const E& e) {
  return detail::untracked(e);
}

template <class Op, class T, class Call, class Oracle>
void check_integer_type(Call call, Oracle oracle, bool zero_right) {
  const std::vector<T> values = integers<T>();
  auto check = [&](const auto& got, std::size_t i, auto want, T a, T b) {
    const auto y = got.data()[i];
    static_assert(std::is_same_v<std::remove_const_t<decltype(y)>, decltype(want)>, "the oracle's type is the op's");
    if (y != want) FAIL_CHECK(Op::name, " of ", name(dtype_of<T>), ": ", +a, ", ", +b, " gives ", +y, ", not ", +want);
  };
  if constexpr (Op::arity == 1) {
    const auto y = evaluated(call(tensor_of(values)));
    for (std::size_t i = 0; i < values.size(); ++i) check(y, i, oracle(values[i]), values[i], T(0));
  } else {
    std::vector<T> xs, ys;
    for (T a : values)
      for (T b : values)
        if (b != 0 || zero_right) xs.push_back(a), ys.push_back(b);
    const Tensor<T> x = tensor_of(xs);
    const auto y = evaluated(call(x, tensor_of(ys)));
    const auto z = evaluated(call(x, T(3)));
    for (std::size_t i = 0; i < xs.size(); ++i) {
      check(y, i, oracle(xs[i], ys[i]), xs[i], ys[i]);
      check(z, i, oracle(xs[i], T(3)), xs[i], T(3));
    }
  }
}
/// Values of every integer type, exactly; the oracle gets and gives the type itself. `zero_right`: whether 0 is
/// allowed as the second operand.
template <class Op, class Call, class Oracle>
void check_integers(Call call, Oracle oracle, bool zero_right = true) {
  REQUIRE(is_tested<Op>);
  check_integer_type<Op, std::uint8_t>(call, oracle, zero_right);
  check_integer_type<Op, std::int8_t>(call, oracle, zero_right);
  check_integer_type<Op, std::int16_t>(call, oracle, zero_right);
  check_integer_type<Op, std::int32_t>(call, oracle, zero_right);
  check_integer_type<Op, std::int64_t>(call, oracle, zero_right);
}

}  // namespace battery
