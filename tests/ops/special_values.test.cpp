// SPDX-License-Identifier: BSL-1.0
// Every op at the edges: its value and its first derivatives at zeros, denormals, tiny and huge numbers, infinities and
// nans, against closed forms in long double. Where the two disagree by more than a few roundings, or one is a nan and
// the other is not, an op loses what it could have kept. All of it is interpreted, so that the sweep compiles fast;
// that compiled kernels give the same bits is tests/device/cpu/interpreter.test.cpp's to say.
#ifndef KILN_INTERPRET
#define KILN_INTERPRET
#endif

#include "battery.hpp"

#include <kiln/expr/reductions.hpp>

using namespace battery;

namespace {

using real = long double;
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float none = std::numeric_limits<float>::quiet_NaN();
constexpr float denormal = std::numeric_limits<float>::denorm_min(), largest = std::numeric_limits<float>::max();

const std::vector<float> edges{0,     -0.0f,  denormal, -denormal, 1e-40f, -1e-40f, 1e-30f, -1e-30f, 1e-4f, -1e-4f,
                               0.5f,  -0.5f,  0.99f,    -0.99f,    1,      -1,      1.5f,   -1.5f,   2,     -2,
                               3,     -3,     5,        -5,        6,      -6,      20,     -20,     80,    -80,
                               100,   -100,   200,      -200,      1e4f,   -1e4f,   1e15f,  -1e15f,  1e30f, -1e30f,
                               3e38f, -3e38f, largest,  -largest,  inf,    -inf,    none};

// How far a result may be off: in parts of itself, and at all.
struct slack {
  double part = 2e-6, whole = 3 * denormal;
};
bool close(float got, real want, const slack& allowed) {
  const float rounded = static_cast<float>(want);
  if (std::isnan(got) || std::isnan(rounded)) return std::isnan(got) && std::isnan(rounded);
  if (std::isinf(got) || std::isinf(rounded))
    return got == rounded || (std::abs(got) > 3.4e38f && std::abs(rounded) > 3.4e38f && (got > 0) == (rounded > 0));
  return std::abs(static_cast<double>(got) - static_cast<double>(rounded)) <=
         allowed.part * std::abs(static_cast<double>(rounded)) + allowed.whole;
}

template <class Call, class Value, class Slope>
void sweep(std::string_view name, Call call, Value value, Slope slope, const slack& of_value = {},
           const slack& of_slope = {}, const std::vector<float>& at = edges) {
  const Tensor<float> y = evaluated(call(tensor_of(at)));
  const std::vector<float> g = gradients_of<float>(call, tensor_of(at));
  REQUIRE(g.size() == at.size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    const real x = at[i];
    CHECK_MESSAGE(close(y.data()[i], value(x), of_value), name, " of ", at[i], " is ", y.data()[i], ", not ",
                  static_cast<float>(value(x)));
    CHECK_MESSAGE(close(g[i], slope(x), of_slope), name, "'s derivative at ", at[i], " is ", g[i], ", not ",
                  static_cast<float>(slope(x)));
  }
}

// Over all pairs.
template <class Call, class Value, class ByLeft, class ByRight>
void sweep_pairs(std::string_view name, Call call, Value value, ByLeft left, ByRight right, const slack& of_value = {},
                 const slack& of_slope = {}) {
  std::vector<float> as, bs;
  for (float a : edges)
    for (float b : edges) as.push_back(a), bs.push_back(b);
  const Tensor<float> y = evaluated(call(tensor_of(as), tensor_of(bs)));
  const std::vector<float> g = gradients_of<float>(call, tensor_of(as), tensor_of(bs));
  REQUIRE(g.size() == 2 * as.size());
  for (std::size_t i = 0; i < as.size(); ++i) {
    const real a = as[i], b = bs[i];
    auto see = [&](const std::string& what, float got, real want, const slack& allowed) {
      CHECK_MESSAGE(close(got, want, allowed), name, what, as[i], ", ", bs[i], " is ", got, ", not ",
                    static_cast<float>(want));
    };
    see(" of ", y.data()[i], value(a, b), of_value);
    see(" by the first at ", g[i], left(a, b), of_slope);
    see(" by the second at ", g[as.size() + i], right(a, b), of_slope);
  }
}

std::vector<float> only(auto keep) {
  std::vector<float> some;
  for (float x : edges)
    if (keep(x)) some.push_back(x);
  return some;
}
const std::vector<float> not_below_one = only([](float x) { return !(x < 1); });

real logistic(real x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
real normal_share(real x) {
  return std::erfc(-x * std::sqrt(0.5L)) / 2;
}
real sign_of(real x) {
  return std::isnan(x) ? x : real(x > 0) - real(x < 0);
}
// 1 - tanh(x)^2 without cancellation.
real tanh_slope(real x) {
  const real c = 1 / std::cosh(x);
  return c * c;
}
// tanh(log(1 + exp(x))) and its derivative.
real mish_share(real x) {
  if (x > 40) return 1;
  const real e = std::exp(x), n = e * (e + 2);
  return n / (n + 2);
}
real mish_slope(real x) {
  if (std::isnan(x)) return x;
  if (x > 300) return 1;
  if (x < -11000) return 0;
  const real e = std::exp(x), n = e * (e + 2), d = n + 2;
  return n / d + x * (4 * e * (e + 1)) / (d * d);
}
real tanh_gelu_inner(real x) {
  return std::sqrt(2 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
}
real tanh_gelu_slope(real x) {
  if (std::isnan(x)) return x;
  if (std::abs(x) > 30) return x > 0;
  const real u = tanh_gelu_inner(x), s = logistic(2 * u);
  return s + x * s * logistic(-2 * u) * 2 * std::sqrt(2 / std::acos(-1.0L)) * (1 + 3 * 0.044715L * x * x);
}
// The quotient that belongs to a floored or truncated remainder.
real quotient(real a, real b, bool floored) {
  if (b == 0 || std::isnan(a)) return a / b;
  if (std::isinf(b)) return std::isinf(a) ? real(none) : floored && a != 0 && (a < 0) != (b < 0) ? -1 : 0;
  const real m = std::fmod(a, b), q = (a - m) / b;
  return floored && m != 0 && (m < 0) != (b < 0) ? q - 1 : q;
}

const slack of_one{2e-6, 2e-7};  // where a derivative is taken off 1

}  // namespace

TEST_CASE("special values: powers, roots and absolute values") {
  sweep(
      "square", [](auto x) { return square(x); }, [](real x) { return x * x; }, [](real x) { return 2 * x; });
  sweep(
      "sqrt", [](auto x) { return sqrt(x); }, [](real x) { return std::sqrt(x); },
      [](real x) { return 0.5L / std::sqrt(x); });
  sweep(
      "rsqrt", [](auto x) { return rsqrt(x); }, [](real x) { return 1 / std::sqrt(x); },
      [](real x) { return -0.5L / (std::sqrt(x) * std::sqrt(x) * std::sqrt(x)); }, {}, {4e-6, 1e-40});
  sweep(
      "reciprocal", [](auto x) { return reciprocal(x); }, [](real x) { return 1 / x; },
      [](real x) { return -1 / (x * x); });
  sweep(
      "abs", [](auto x) { return abs(x); }, [](real x) { return std::abs(x); }, sign_of);
}

TEST_CASE("special values: exponentials and logarithms") {
  sweep(
      "exp", [](auto x) { return exp(x); }, [](real x) { return std::exp(x); }, [](real x) { return std::exp(x); });
  sweep(
      "exp2", [](auto x) { return exp2(x); }, [](real x) { return std::exp2(x); },
      [](real x) { return std::exp2(x) * std::log(2.0L); });
  sweep(
      "expm1", [](auto x) { return expm1(x); }, [](real x) { return std::expm1(x); },
      [](real x) { return std::exp(x); });
  sweep(
      "sigmoid", [](auto x) { return sigmoid(x); }, logistic, [](real x) { return logistic(x) * logistic(-x); }, {},
      of_one);
  sweep(
      "log", [](auto x) { return log(x); }, [](real x) { return std::log(x); }, [](real x) { return 1 / x; });
  sweep(
      "log2", [](auto x) { return log2(x); }, [](real x) { return std::log2(x); },
      [](real x) { return 1 / (x * std::log(2.0L)); }, {}, {2e-6, 2e-39});
  sweep(
      "log10", [](auto x) { return log10(x); }, [](real x) { return std::log10(x); },
      [](real x) { return 1 / (x * std::log(10.0L)); }, {}, {2e-6, 2e-39});
  sweep(
      "log1p", [](auto x) { return log1p(x); }, [](real x) { return std::log1p(x); },
      [](real x) { return 1 / (1 + x); });
}

TEST_CASE("special values: trigonometric and hyperbolic functions") {
  sweep(
      "sin", [](auto x) { return sin(x); }, [](real x) { return std::sin(x); }, [](real x) { return std::cos(x); });
  sweep(
      "cos", [](auto x) { return cos(x); }, [](real x) { return std::cos(x); }, [](real x) { return -std::sin(x); });
  sweep(
      "tan", [](auto x) { return tan(x); }, [](real x) { return std::tan(x); },
      [](real x) { return 1 + std::tan(x) * std::tan(x); });
  sweep(
      "atan", [](auto x) { return atan(x); }, [](real x) { return std::atan(x); },
      [](real x) { return 1 / (1 + x * x); });
  sweep(
      "asin", [](auto x) { return asin(x); }, [](real x) { return std::asin(x); },
      [](real x) { return 1 / std::sqrt(1 - x * x); });
  sweep(
      "acos", [](auto x) { return acos(x); }, [](real x) { return std::acos(x); },
      [](real x) { return -1 / std::sqrt(1 - x * x); });
  sweep(
      "sinh", [](auto x) { return sinh(x); }, [](real x) { return std::sinh(x); }, [](real x) { return std::cosh(x); });
  sweep(
      "cosh", [](auto x) { return cosh(x); }, [](real x) { return std::cosh(x); }, [](real x) { return std::sinh(x); });
  sweep(
      "tanh", [](auto x) { return tanh(x); }, [](real x) { return std::tanh(x); }, tanh_slope, {}, of_one);
  sweep(
      "asinh", [](auto x) { return asinh(x); }, [](real x) { return std::asinh(x); },
      [](real x) { return 1 / std::sqrt(1 + x * x); });
  sweep(
      "acosh", [](auto x) { return acosh(x); }, [](real x) { return std::acosh(x); },
      [](real x) { return 1 / std::sqrt(x * x - 1); }, {}, {}, not_below_one);
  sweep(
      "erf", [](auto x) { return erf(x); }, [](real x) { return std::erf(x); },
      [](real x) { return std::exp(-x * x) * 2 / std::sqrt(std::acos(-1.0L)); }, {}, {4e-6, 1e-40});
  sweep(
      "erfc", [](auto x) { return erfc(x); }, [](real x) { return std::erfc(x); },
      [](real x) { return -std::exp(-x * x) * 2 / std::sqrt(std::acos(-1.0L)); }, {}, {4e-6, 1e-40});
  sweep(
      "gaussian", [](auto x) { return gaussian(x); }, [](real x) { return std::exp(-x * x / 2); },
      [](real x) { return std::abs(x) > 1000 ? 0 : -x * std::exp(-x * x / 2); });
  sweep(
      "ndtr", [](auto x) { return ndtr(x); }, normal_share,
      [](real x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L)); });
}

TEST_CASE("special values: activations that limit") {
  auto limited = [](real x, real low, real high) { return std::isnan(x) ? x : std::min(std::max(x, low), high); };
  auto within = [](real x, real low, real high) { return std::isnan(x) || (x > low && x < high) ? 1.0L : 0.0L; };
  sweep(
      "relu", [](auto x) { return relu(x); }, [](real x) { return x < 0 ? 0 : x; },
      [](real x) { return x <= 0 ? 0.0L : 1.0L; });
  sweep(
      "relu6", [](auto x) { return relu6(x); }, [&](real x) { return limited(x, 0, 6); },
      [&](real x) { return within(x, 0, 6); });
  sweep(
      "hardtanh", [](auto x) { return hardtanh(x); }, [&](real x) { return limited(x, -1, 1); },
      [&](real x) { return within(x, -1, 1); });
  sweep(
      "clamp", [](auto x) { return clamp(x, -1, 1); }, [&](real x) { return limited(x, -1, 1); },
      [](real x) { return x > -1 && x < 1 ? 1.0L : 0.0L; });
  sweep(
      "threshold", [](auto x) { return threshold(x, 1, 7); }, [](real x) { return x <= 1 ? 7 : x; },
      [](real x) { return x <= 1 ? 0.0L : 1.0L; });
  sweep(
      "hardsigmoid", [](auto x) { return hardsigmoid(x); }, [&](real x) { return limited(x + 3, 0, 6) / 6; },
      [](real x) { return x > -3 && x < 3 ? 1.0L / 6 : 0.0L; });
  sweep(
      "hardswish", [](auto x) { return hardswish(x); }, [&](real x) { return x * (limited(x + 3, 0, 6) / 6); },
      [](real x) { return x <= -3 ? 0
                          : x < 3 ? x / 3 + 0.5L
                                  : 1; });
  sweep(
      "leaky_relu", [](auto x) { return leaky_relu(x, 0.25); }, [](real x) { return x > 0 ? x : x / 4; },
      [](real x) { return x > 0 ? 1.0L : 0.25L; });
  sweep(
      "softshrink", [](auto x) { return softshrink(x); },
      [](real x) { return x > 0.5L    ? x - 0.5L
                          : x < -0.5L ? x + 0.5L
                                      : 0 * x; },
      [](real x) { return std::abs(x) <= 0.5L ? 0.0L : 1.0L; });
  sweep(
      "hardshrink", [](auto x) { return hardshrink(x); }, [](real x) { return std::abs(x) <= 0.5L ? 0 : x; },
      [](real x) { return std::abs(x) <= 0.5L ? 0.0L : 1.0L; });
}

TEST_CASE("special values: activations through exponentials") {
  // At an infinite argument they multiply it by 0, as PyTorch's do.
  sweep(
      "silu", [](auto x) { return silu(x); }, [](real x) { return x * logistic(x); },
      [](real x) { return logistic(x) * (1 + x * logistic(-x)); }, {4e-6, 1e-35}, {4e-6, 4e-7});
  sweep(
      "gelu", [](auto x) { return gelu(x); }, [](real x) { return x * normal_share(x); },
      [](real x) { return normal_share(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L)); },
      {4e-6, 1e-40}, {4e-6, 1e-38});
  sweep(
      "gelu_tanh", [](auto x) { return gelu_tanh(x); }, [](real x) { return x * logistic(2 * tanh_gelu_inner(x)); },
      tanh_gelu_slope, {4e-6, 1e-36}, {4e-6, 4e-7});
  sweep(
      "mish", [](auto x) { return mish(x); }, [](real x) { return x * mish_share(x); }, mish_slope, {4e-6, 1e-35},
      {4e-6, 4e-7});
  sweep(
      "softsign", [](auto x) { return softsign(x); }, [](real x) { return x / (1 + std::abs(x)); },
      [](real x) { return 1 / ((1 + std::abs(x)) * (1 + std::abs(x))); });
  sweep(
      "logsigmoid", [](auto x) { return logsigmoid(x); },
      [](real x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); },
      [](real x) { return logistic(-x); });
  sweep(
      "tanhshrink", [](auto x) { return tanhshrink(x); },
      [](real x) { return std::abs(x) < 1e-4L ? x * x * x / 3 : x - std::tanh(x); },
      [](real x) { return std::tanh(x) * std::tanh(x); });
  sweep(
      "selu", [](auto x) { return selu(x); },
      [](real x) { return 1.0507009873554804934L * (x > 0 ? x : 1.6732632423543772848L * std::expm1(x)); },
      [](real x) { return !(x <= 0) ? 1.0507009873554804934L : 1.7580993408473768599L * std::exp(x); });
  sweep(
      "elu", [](auto x) { return elu(x, 0.5); }, [](real x) { return x > 0 ? x : std::expm1(x) / 2; },
      [](real x) { return !(x <= 0) ? 1 : std::exp(x) / 2; });
  sweep(
      "celu", [](auto x) { return celu(x, 0.5); }, [](real x) { return x > 0 ? x : std::expm1(2 * x) / 2; },
      [](real x) { return !(x <= 0) ? 1 : std::exp(2 * x); });
  sweep(
      "softplus", [](auto x) { return softplus(x); },
      [](real x) { return !(x <= 20) ? x : std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x))); },
      [](real x) { return x > 20 ? 1 : logistic(x); }, {2e-6, 1e-38});
}

TEST_CASE("special values: quotients and remainders") {
  sweep_pairs(
      "div", [](auto a, auto b) { return a / b; }, [](real a, real b) { return a / b; },
      [](real, real b) { return 1 / b; },
      [](real a, real b) { return -static_cast<real>(static_cast<float>(a / b)) / b; });
  sweep_pairs(
      "fmod", [](auto a, auto b) { return fmod(a, b); }, [](real a, real b) { return std::fmod(a, b); },
      [](real, real) { return 1.0L; },
      [](real a, real b) { return -std::trunc(static_cast<real>(static_cast<float>(a) / static_cast<float>(b))); });
  sweep_pairs(
      "remainder", [](auto a, auto b) { return remainder(a, b); },
      [](real a, real b) {
        const real m = std::fmod(a, b);
        return m != 0 && (m < 0) != (b < 0) ? m + b : m;
      },
      [](real, real) { return 1.0L; },
      [](real a, real b) { return std::isinf(a) && b != 0 ? real(none) : -quotient(a, b, true); }, {}, {2e-6, 1e-30});
}

TEST_CASE("special values: extremes share a gradient at ties and beside nans") {
  auto either = [](real a, real b) { return std::isnan(a) || std::isnan(b); };
  sweep_pairs(
      "maximum", [](auto a, auto b) { return maximum(a, b); },
      [&](real a, real b) { return either(a, b) ? real(none) : std::max(a, b); },
      [](real a, real b) { return a < b    ? 0.0L
                                  : a == b ? 0.5L
                                           : 1.0L; },
      [](real a, real b) { return a > b    ? 0.0L
                                  : a == b ? 0.5L
                                           : 1.0L; });
  sweep_pairs(
      "minimum", [](auto a, auto b) { return minimum(a, b); },
      [&](real a, real b) { return either(a, b) ? real(none) : std::min(a, b); },
      [](real a, real b) { return a > b    ? 0.0L
                                  : a == b ? 0.5L
                                           : 1.0L; },
      [](real a, real b) { return a < b    ? 0.0L
                                  : a == b ? 0.5L
                                           : 1.0L; });
}

TEST_CASE("special values: distances and angles of finite points") {
  const std::vector<float> finite = only([](float x) { return std::abs(x) <= 1e30f; });
  std::vector<float> as, bs;
  for (float a : finite)
    for (float b : finite)
      if ((a != 0 || b != 0) && std::hypot(a, b) > 1e-37f) as.push_back(a), bs.push_back(b);
  const auto lengths = gradients_of<float>([](auto a, auto b) { return hypot(a, b); }, tensor_of(as), tensor_of(bs));
  const auto angles = gradients_of<float>([](auto a, auto b) { return atan2(a, b); }, tensor_of(as), tensor_of(bs));
  const std::size_t n = as.size();
  for (std::size_t i = 0; i < n; ++i) {
    const real a = as[i], b = bs[i], r = std::hypot(a, b);
    CHECK_MESSAGE(close(lengths[i], a / r, {}), "hypot at ", as[i], ", ", bs[i], ": ", lengths[i]);
    CHECK_MESSAGE(close(lengths[n + i], b / r, {}), "hypot at ", as[i], ", ", bs[i], ": ", lengths[n + i]);
    CHECK_MESSAGE(close(angles[i], b / r / r, {2e-6, 1e-38}), "atan2 at ", as[i], ", ", bs[i], ": ", angles[i]);
    CHECK_MESSAGE(close(angles[n + i], -a / r / r, {2e-6, 1e-38}), "atan2 at ", as[i], ", ", bs[i], ": ",
                  angles[n + i]);
  }
}

TEST_CASE("special values: at the origin an angle has no gradient, as in PyTorch") {
  const std::vector<float> a{0.0f, -0.0f, 0.0f}, b{0.0f, 0.0f, -0.0f};
  for (const float g : gradients_of<float>([](auto x, auto y) { return atan2(x, y); }, tensor_of(a), tensor_of(b)))
    CHECK(g == 0);
}
