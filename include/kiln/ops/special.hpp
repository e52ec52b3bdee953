// SPDX-License-Identifier: BSL-1.0
// Error and gamma functions, and those of the normal distribution.
#pragma once

#include <kiln/ops/exponential.hpp>
#include <kiln/ops/selection.hpp>

namespace kiln {

struct erf_op : floating<1> {
  static constexpr std::string_view name = "erf";
  static constexpr auto value(auto x) { return erf(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * (1.12837916709551257390 * exp(-(x * x))); }
};
/// The error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x.
template <Operand X>
constexpr auto erf(X x) {
  return apply<erf_op>(std::move(x));
}

struct erfc_op : floating<1> {
  static constexpr std::string_view name = "erfc";
  static constexpr auto value(auto x) { return erfc(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * (-1.12837916709551257390 * exp(-(x * x))); }
};
/// 1 - erf(x), accurate where erf is near 1.
template <Operand X>
constexpr auto erfc(X x) {
  return apply<erfc_op>(std::move(x));
}

struct gaussian_op : floating<1> {
  static constexpr std::string_view name = "gaussian";
  static constexpr auto value(auto x) { return gaussian(x); }
  // At infinities 0: the result is 0 long before the limit.
  static constexpr auto adjoint(auto g, auto y, auto x) { return g * (-minimum(maximum(x, -1000), 1000) * y); }
};
/// exp(-x * x / 2), with all digits also where x * x has been rounded off by more than one of them is worth.
template <Operand X>
constexpr auto gaussian(X x) {
  return apply<gaussian_op>(std::move(x));
}

struct ndtr_op : floating<1> {
  static constexpr std::string_view name = "ndtr";
  static constexpr auto value(auto x) { return ndtr(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * (0.39894228040143267794 * gaussian(x)); }
};
/// The distribution function of the normal distribution, (1 + erf(x / sqrt(2))) / 2, accurate far below 0.
template <Operand X>
constexpr auto ndtr(X x) {
  return apply<ndtr_op>(std::move(x));
}

struct polygamma_op : floating<2> {
  static constexpr std::string_view name = "polygamma";
  static constexpr auto value(auto n, auto x) { return polygamma(n, x); }
  static constexpr auto adjoint(auto g, auto, auto n, auto x) {
    return adjoints{no_gradient{}, g * polygamma(n + 1, x)};
  }
};
/// The n-th derivative of digamma, n an integer from 0 to 170 (else nan); infinite at the poles.
template <class N, class X>
  requires Operands<N, X>
constexpr auto polygamma(N n, X x) {
  return apply<polygamma_op>(std::move(n), std::move(x));
}

struct digamma_op : floating<1> {
  static constexpr std::string_view name = "digamma";
  static constexpr auto value(auto x) { return digamma(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * polygamma(1, x); }
};
/// The derivative of lgamma; nan at the negative integers, -inf at +0.
template <Operand X>
constexpr auto digamma(X x) {
  return apply<digamma_op>(std::move(x));
}

struct lgamma_op : floating<1> {
  static constexpr std::string_view name = "lgamma";
  static constexpr auto value(auto x) { return lgamma(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * digamma(x); }
};
/// Logarithm of the absolute value of the gamma function.
template <Operand X>
constexpr auto lgamma(X x) {
  return apply<lgamma_op>(std::move(x));
}

}  // namespace kiln
