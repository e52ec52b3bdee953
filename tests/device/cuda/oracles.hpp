// SPDX-License-Identifier: BSL-1.0
// What every elementwise op should give, by name, computed in long double with the C++ library alone; and how far a
// kernel may be from it. Nothing of kiln computes here.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string_view>

namespace oracles {

using real = long double;

struct oracle {
  std::function<real(real, real, real)> value;
  /// Errors allowed in units of the last place of the result; with `of_operand`, of what the op adds up.
  double ulps = 0;
  bool of_operand = false;
  /// Where operands may lie: outside, the functions of the C library for float have no such bound.
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

inline real logistic(real x) {
  return 1 / (1 + std::exp(-x));
}
inline real softplus(real x) {
  return std::max(x, real(0)) + std::log1p(std::exp(-std::abs(x)));
}
inline real least(real a, real b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<real>::quiet_NaN() : std::min(a, b);
}
inline real greatest(real a, real b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<real>::quiet_NaN() : std::max(a, b);
}
inline real within(real x, real low, real high) {
  return least(greatest(x, low), high);
}

/// By name. Ops with parameters get them as the second and third operand.
inline const std::map<std::string_view, oracle>& elementwise() {
  auto one = [](auto f, double ulps = 0, bool of_operand = false, double low = -1e300, double high = 1e300) {
    return oracle{[f](real x, real, real) { return static_cast<real>(f(x)); }, ulps, of_operand, low, high};
  };
  auto two = [](auto f, double ulps = 0, bool of_operand = false) {
    return oracle{[f](real a, real b, real) { return static_cast<real>(f(a, b)); }, ulps, of_operand};
  };
  auto three = [](auto f, double ulps = 0, bool of_operand = false) {
    return oracle{[f](real a, real b, real c) { return static_cast<real>(f(a, b, c)); }, ulps, of_operand};
  };
  static const std::map<std::string_view, oracle> all{
      {"clone", one([](real x) { return x; })},
      {"stop_gradient", one([](real x) { return x; })},
      {"add", two([](real a, real b) { return a + b; }, 0.501)},
      {"sub", two([](real a, real b) { return a - b; }, 0.501)},
      {"mul", two([](real a, real b) { return a * b; }, 0.501)},
      {"div", two([](real a, real b) { return a / b; }, 0.501)},
      {"neg", one([](real x) { return -x; })},
      {"square", one([](real x) { return x * x; }, 0.501)},
      {"sqrt", one([](real x) { return std::sqrt(x); }, 0.501)},
      {"root", one([](real x) { return std::sqrt(x); }, 0.501)},
      {"rsqrt", one([](real x) { return 1 / std::sqrt(x); }, 1.5)},
      {"reciprocal", one([](real x) { return 1 / x; }, 0.501)},
      {"abs", one([](real x) { return std::abs(x); })},
      {"pow", two([](real a, real b) { return std::pow(a, b); }, 1.1)},
      {"hypot", two([](real a, real b) { return std::hypot(a, b); }, 1.1)},
      {"fmod", two([](real a, real b) { return std::fmod(a, b); })},
      {"remainder", two(
                        [](real a, real b) {
                          const real r = std::fmod(a, b);
                          return r != 0 && (r < 0) != (b < 0) ? r + b : r;
                        },
                        0.501)},
      {"floor", one([](real x) { return std::floor(x); })},
      {"ceil", one([](real x) { return std::ceil(x); })},
      {"round", one([](real x) { return std::nearbyint(x); })},
      {"trunc", one([](real x) { return std::trunc(x); })},
      {"sign", one([](real x) { return x > 0   ? 1
                                       : x < 0 ? -1
                                               : x; })},
      {"exp", one([](real x) { return std::exp(x); }, 1.1)},
      {"exp2", one([](real x) { return std::exp2(x); }, 1.1)},
      {"expm1", one([](real x) { return std::expm1(x); }, 2)},
      {"sigmoid", one(logistic, 2.6)},
      {"log", one([](real x) { return std::log(x); }, 1)},
      {"log2", one([](real x) { return std::log2(x); }, 1.1)},
      {"log10", one([](real x) { return std::log10(x); }, 2)},
      {"log1p", one([](real x) { return std::log1p(x); }, 1.8)},
      {"sin", one([](real x) { return std::sin(x); }, 1, false, -1e5, 1e5)},
      {"cos", one([](real x) { return std::cos(x); }, 1, false, -1e5, 1e5)},
      {"tan", one([](real x) { return std::tan(x); }, 2, false, -1e5, 1e5)},
      {"asin", one([](real x) { return std::asin(x); }, 1.8)},
      {"acos", one([](real x) { return std::acos(x); }, 1.5)},
      {"atan", one([](real x) { return std::atan(x); }, 2.2)},
      {"atan2", two([](real a, real b) { return std::atan2(a, b); }, 2.7)},
      {"sinh", one([](real x) { return std::sinh(x); }, 2.5)},
      {"cosh", one([](real x) { return std::cosh(x); }, 2.6)},
      {"tanh", one([](real x) { return std::tanh(x); }, 3)},
      {"asinh", one([](real x) { return std::asinh(x); }, 2.2)},
      {"acosh", one([](real x) { return std::acosh(x); }, 2.5)},
      {"atanh", one([](real x) { return std::atanh(x); }, 2.3)},
      {"erf", one([](real x) { return std::erf(x); }, 2.5)},
      {"erfc", one([](real x) { return std::erfc(x); }, 4.5)},
      {"gaussian", one([](real x) { return std::exp(-x * x / 2); }, 2.5)},
      {"ndtr", one([](real x) { return std::erfc(-x * std::sqrt(0.5L)) / 2; }, 5)},
      {"lgamma", one([](real x) { return std::lgamma(x); }, 6, true)},
      {"isnan", one([](real x) { return std::isnan(x); })},
      {"isinf", one([](real x) { return std::isinf(x); })},
      {"isfinite", one([](real x) { return std::isfinite(x); })},
      {"eq", two([](real a, real b) { return a == b; })},
      {"ne", two([](real a, real b) { return a != b; })},
      {"lt", two([](real a, real b) { return a < b; })},
      {"le", two([](real a, real b) { return a <= b; })},
      {"gt", two([](real a, real b) { return a > b; })},
      {"ge", two([](real a, real b) { return a >= b; })},
      {"logical_and", two([](real a, real b) { return a != 0 && b != 0; })},
      {"logical_or", two([](real a, real b) { return a != 0 || b != 0; })},
      {"logical_xor", two([](real a, real b) { return (a != 0) != (b != 0); })},
      {"logical_not", one([](real x) { return x == 0; })},
      {"where", three([](real c, real a, real b) { return c != 0 ? a : b; })},
      {"minimum", two(least)},
      {"maximum", two(greatest)},
      {"clamp", three(within)},
      {"lerp", three([](real a, real b, real w) { return a + w * (b - a); }, 6, true)},
      {"relu", one([](real x) { return x <= 0 ? 0 : x; })},
      {"silu", one([](real x) { return x * logistic(x); }, 6)},
      {"gelu", one([](real x) { return x / 2 * (1 + std::erf(x * 0.70710678118654752440084436210485L)); }, 6, true)},
      {"gelu_tanh",
       one([](real x) { return x / 2 * (1 + std::tanh(0.79788456080286535588L * (x + 0.044715L * x * x * x))); }, 12,
           true)},
      {"mish", one([](real x) { return x * std::tanh(softplus(x)); }, 6)},
      {"softsign", one([](real x) { return x / (1 + std::abs(x)); }, 2)},
      {"logsigmoid", one([](real x) { return -softplus(-x); }, 3)},
      {"tanhshrink", one([](real x) { return x - std::tanh(x); }, 3, true)},
      {"relu6", one([](real x) { return within(x, 0, 6); })},
      {"hardsigmoid", one([](real x) { return within(x + 3, 0, 6) / 6; }, 2, true)},
      {"hardswish", one([](real x) { return x * within(x + 3, 0, 6) / 6; }, 6, true)},
      {"selu", one(
                   [](real x) {
                     return 1.0507009873554804934193349852946L *
                            (x > 0 ? x : 1.6732632423543772848170429916717L * std::expm1(x));
                   },
                   4)},
      {"leaky_relu", two([](real x, real p) { return x > 0 ? x : p * x; }, 0.501)},
      {"elu", two([](real x, real p) { return x > 0 ? x : p * std::expm1(x); }, 3)},
      {"celu", two([](real x, real p) { return x > 0 ? x : p * std::expm1(x / p); }, 4)},
      {"softshrink", two([](real x, real p) { return x > p    ? x - p
                                                     : x < -p ? x + p
                                                              : 0 * x; }, 0.501)},
      {"hardshrink", two([](real x, real p) { return x >= -p && x <= p ? 0 : x; })},
      {"softplus", three([](real x, real p, real q) { return x * p > q ? x : softplus(x * p) / p; }, 12)},
      {"hardtanh", three(within)},
      {"threshold", three([](real x, real p, real q) { return x <= p ? q : x; })},
  };
  return all;
}

/// What NVIDIA's table of its device functions allows ("Mathematical Functions" in the CUDA C++ Programming Guide: the
/// largest distance from the rounded result, in units of the last place), by the name of the op that is this function.
struct published_error {
  double single, full;
};
inline const std::map<std::string_view, published_error>& published_errors() {
  static const std::map<std::string_view, published_error> all{
      {"rsqrt", {2, 1}}, {"hypot", {3, 2}}, {"pow", {4, 2}},   {"exp", {2, 1}},   {"exp2", {2, 1}},  {"expm1", {1, 1}},
      {"log", {1, 1}},   {"log2", {1, 1}},  {"log10", {2, 1}}, {"log1p", {1, 1}}, {"sin", {2, 2}},   {"cos", {2, 2}},
      {"tan", {4, 2}},   {"asin", {2, 2}},  {"acos", {2, 2}},  {"atan", {2, 2}},  {"atan2", {3, 2}}, {"sinh", {3, 2}},
      {"cosh", {2, 1}},  {"tanh", {2, 2}},  {"asinh", {3, 3}}, {"acosh", {4, 3}}, {"atanh", {3, 2}}, {"erf", {2, 2}},
      {"erfc", {4, 5}},  {"lgamma", {6, 4}}};
  return all;
}
/// How far the result of an op may be on a GPU: as far as the published table says, where the op is one of its
/// functions, with half a unit for the rounding of the exact result. A formula that calls one of them may be as much
/// further away than on the emulator.
template <class T>
double ulps_on_gpu(std::string_view op, const oracle& o) {
  static const std::map<std::string_view, std::string_view> made_of{
      {"sigmoid", "exp"},    {"silu", "exp"},   {"gaussian", "exp"},     {"ndtr", "erfc"},       {"gelu", "erf"},
      {"gelu_tanh", "tanh"}, {"mish", "tanh"},  {"logsigmoid", "log1p"}, {"tanhshrink", "tanh"}, {"selu", "expm1"},
      {"elu", "expm1"},      {"celu", "expm1"}, {"softplus", "log1p"}};
  const auto& published = published_errors();
  const auto inner = made_of.find(op);
  const auto found = published.find(inner == made_of.end() ? op : inner->second);
  if (found == published.end()) return o.ulps;
  const double error = (sizeof(T) == 4 ? found->second.single : found->second.full) + 0.5;
  return inner == made_of.end() ? error : o.ulps + error;
}

}  // namespace oracles
