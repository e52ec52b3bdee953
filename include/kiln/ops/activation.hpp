// SPDX-License-Identifier: BSL-1.0
// Activation functions, each written from primitives. A derivative rule stands where it is cheaper than, or at a kink
// differs from, what differentiating the value rule gives (the conventions at kinks are PyTorch's).
#pragma once

#include <cstdint>
#include <limits>

#include <kiln/ops/arithmetic.hpp>
#include <kiln/ops/exponential.hpp>
#include <kiln/ops/hyperbolic.hpp>
#include <kiln/ops/rounding.hpp>
#include <kiln/ops/selection.hpp>
#include <kiln/ops/special.hpp>

namespace kiln {

namespace detail {
/// A number as an integer, without its fraction; what no integer holds becomes the nearest one. Throws value_error for
/// a nan.
constexpr std::int64_t without_fraction(double value, const char* where) {
  if (value != value)
    throw value_error(message(where, ": nan is no integer: use a number, or cast<float>() the operand"));
  constexpr double edge = 0x1p63;
  return value >= edge    ? std::numeric_limits<std::int64_t>::max()
         : value <= -edge ? std::numeric_limits<std::int64_t>::min()
                          : static_cast<std::int64_t>(value);
}
}  // namespace detail

/// A composite op of one operand and up to two numbers (p, q): its value rule is written out on the tape.
template <int Arity>
struct activation : floating<Arity> {
  static constexpr bool composite = true;
};

/// The same, of those that keep integers.
template <int Arity>
struct limiter : arithmetic<Arity> {
  static constexpr bool composite = true;
  static constexpr bool accepts(dtype d) { return d != dtype::boolean; }
};

struct relu_op : arithmetic<1> {
  static constexpr std::string_view name = "relu";
  static constexpr bool composite = true;
  static constexpr auto value(auto x) { return where(x < 0, 0, x); }
  static constexpr auto adjoint(auto g, auto y, auto) { return where(y <= 0, 0, g); }
};
/// max(x, 0); nan stays nan. Its gradient at 0 is 0.
template <Operand X>
constexpr auto relu(X x) {
  return apply<relu_op>(std::move(x));
}

struct silu_op : activation<1> {
  static constexpr std::string_view name = "silu";
  static constexpr auto value(auto x) { return x * sigmoid(x); }
};
/// x * sigmoid(x), also called swish.
template <Operand X>
constexpr auto silu(X x) {
  return apply<silu_op>(std::move(x));
}

struct gelu_op : activation<1> {
  static constexpr std::string_view name = "gelu";
  static constexpr auto value(auto x) { return x * ndtr(x); }
  // The functions have an exponential in common, which a kernel computes once.
  static constexpr auto adjoint(auto g, auto, auto x) {
    return g * (ndtr(x) + x * (0.39894228040143267794 * gaussian(x)));
  }
};
/// x * Phi(x) with the normal distribution function Phi (Hendrycks and Gimpel 2016).
template <Operand X>
constexpr auto gelu(X x) {
  return apply<gelu_op>(std::move(x));
}

struct gelu_tanh_op : activation<1> {
  static constexpr std::string_view name = "gelu_tanh";
  // (1 + tanh(u)) / 2 is sigmoid(2u), which keeps its digits far below 0. Whatever 2u = c a + k a^3 with a = |x| is
  // rounded off by, exp(2u) is off in parts of itself, so it is had in two parts. At `near`, the multiple of 1/4
  // (1/512) next to a, c near + k near^3 is exact with the first bits of c and k, and so is the rest of a times the
  // first bits of the slope there; what is left of c, k and the slope is small. Beyond 30 all is 0 or 1.
  template <class V>
  struct logistic {
    V a, slope;  ///< slope: of 2u by a
    V e;         ///< exp(-2u) is e * times, of which e is not denormal yet
    double times;
    V below;  ///< 1 + exp(-2u)
  };
  static constexpr auto at(auto x) {
    const bool twice = in_double(x);
    constexpr double k = 0.07135481627260024876;
    const double c1 = twice ? 0x1.9884533d4p+0 : 0x1.9884p+0,
                 c2 = twice ? 3.0874305383944692e-12 : 4.96144948071176e-06;
    const double k1 = twice ? 0x1.244p-4 : 0x1.24p-4, k2 = twice ? 4.718616350248776e-06 : 6.575377260024877e-05;
    const auto a = minimum(where(x < 0, -x, x), 30);
    const auto near = round(a * (twice ? 512 : 4)) * (twice ? 0x1p-9 : 0x1p-2), rest = a - near, squared = near * near;
    const auto slope = c1 + 3 * k1 * squared, first = round(slope * (twice ? 256 : 4)) * (twice ? 0x1p-8 : 0x1p-2);
    // Less 53 (24) times log(2), in two parts as well.
    const auto exact = near * (c1 + k1 * squared) - (twice ? 0x1.25e4f7b2738p+5 : 0x1.0a2b2p+4);
    const auto further = rest * first, most = exact + further;
    const auto of_slope = c2 + 3 * k2 * squared;
    const auto left = (slope - first) + of_slope + k * rest * (3 * near + rest);
    const auto little =
        rest * left + near * (c2 + k2 * squared) + (twice ? 4.195858084658005e-14 : -3.7689855624260137e-06);
    const auto both = most + little, lost = ((exact - most) + further) + ((most - both) + little);
    const auto rounded = exp(-both), e = rounded - rounded * lost;
    const double times = twice ? 0x1p-53 : 0x1p-24;
    return logistic<decltype(x)>{a, slope + (of_slope + 3 * k * rest * (near + a)), e, times, 1 + e * times};
  }
  static constexpr auto value(auto x) {
    const auto s = at(x);
    const auto y = where(x < 0, x * s.e, x) / s.below;
    return where(x < 0, y * s.times, y);
  }
  static constexpr auto adjoint(auto g, auto, auto x) {
    const auto s = at(x);
    const auto d =
        where(x < 0, s.e * (s.below - s.a * s.slope), s.below + s.e * s.times * (s.slope * s.a)) / (s.below * s.below);
    return g * where(x < 0, d * s.times, d);
  }
};
/// The tanh approximation of gelu (Hendrycks and Gimpel 2016), PyTorch's approximate='tanh'.
template <Operand X>
constexpr auto gelu_tanh(X x) {
  return apply<gelu_tanh_op>(std::move(x));
}

struct mish_op : activation<1> {
  static constexpr std::string_view name = "mish";
  // tanh(log(1 + exp(x))) is u / (u + v) with u = exp(x) (exp(x) + 2) and v = 2; above 0, both by exp(2x).
  template <class V>
  struct quotient {
    V u, v;
  };
  static constexpr auto quotient_at(auto x) {
    const auto e = exp(where(x < 0, x, -x));  // not by abs(x), which is not smooth at 0 as this is
    return quotient<decltype(x)>{where(x < 0, e * (e + 2), 1 + 2 * e), where(x < 0, 2, 2 * (e * e))};
  }
  static constexpr auto value(auto x) {
    const auto q = quotient_at(x);
    return x * (q.u / (q.u + q.v));
  }
  // The first term is off 1 above 0, since u / (u + v) there has a derivative far below those of its parts. The second
  // is 0 where x is beyond what exp(-|x|) leaves anything of.
  static constexpr auto adjoint(auto g, auto, auto x) {
    const auto q = quotient_at(x);
    const auto r = 1 / (q.u + q.v), near = minimum(maximum(x, -1000), 1000);
    return g * (where(x < 0, q.u * r, 1 - q.v * r) + near * (q.v * r) * ((q.u + q.u + q.v) * r) * sigmoid(x));
  }
};
/// x * tanh(softplus(x)) (Misra 2019).
template <Operand X>
constexpr auto mish(X x) {
  return apply<mish_op>(std::move(x));
}

struct softsign_op : activation<1> {
  static constexpr std::string_view name = "softsign";
  static constexpr auto value(auto x) { return x / (1 + abs(x)); }
  static constexpr auto adjoint(auto g, auto, auto x) {
    const auto r = reciprocal(1 + abs(x));
    return g * (r * r);
  }
};
/// x / (1 + |x|).
template <Operand X>
constexpr auto softsign(X x) {
  return apply<softsign_op>(std::move(x));
}

struct logsigmoid_op : activation<1> {
  static constexpr std::string_view name = "logsigmoid";
  static constexpr auto value(auto x) { return minimum(x, 0) - log1p(exp(-abs(x))); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * sigmoid(-x); }
};
/// log(sigmoid(x)), without overflow.
template <Operand X>
constexpr auto logsigmoid(X x) {
  return apply<logsigmoid_op>(std::move(x));
}

struct tanhshrink_op : activation<1> {
  static constexpr std::string_view name = "tanhshrink";
  // Near 0 by its series: the difference would keep none of the digits.
  static constexpr auto value(auto x) {
    const auto s = x * x;
    const auto series =
        ((((-21844.0 / 6081075 * s + 1382.0 / 155925) * s - 62.0 / 2835) * s + 17.0 / 315) * s - 2.0 / 15) * s +
        1.0 / 3;
    return where(abs(x) < (in_double(x) ? 0.1 : 0.4), x * (s * series), x - tanh(x));
  }
  static constexpr auto adjoint(auto g, auto, auto x) {
    const auto t = tanh(x);
    return g * (t * t);
  }
};
/// x - tanh(x).
template <Operand X>
constexpr auto tanhshrink(X x) {
  return apply<tanhshrink_op>(std::move(x));
}

struct relu6_op : limiter<1> {
  static constexpr std::string_view name = "relu6";
  static constexpr auto value(auto x) { return where(x < 0, 0, minimum(x, 6)); }
  static constexpr auto adjoint(auto g, auto y, auto) { return where(logical_or(y <= 0, y >= 6), 0, g); }
};
/// x limited to [0, 6].
template <Operand X>
constexpr auto relu6(X x) {
  return apply<relu6_op>(std::move(x));
}

struct hardsigmoid_op : activation<1> {
  static constexpr std::string_view name = "hardsigmoid";
  static constexpr auto value(auto x) { return minimum(maximum(x + 3, 0), 6) / 6; }
  static constexpr auto adjoint(auto g, auto, auto x) { return where(logical_and(x > -3, x < 3), g / 6, 0); }
};
/// x / 6 + 1/2 limited to [0, 1].
template <Operand X>
constexpr auto hardsigmoid(X x) {
  return apply<hardsigmoid_op>(std::move(x));
}

struct hardswish_op : activation<1> {
  static constexpr std::string_view name = "hardswish";
  static constexpr auto value(auto x) { return x * (minimum(maximum(x + 3, 0), 6) / 6); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g * where(x <= -3, 0, where(x < 3, x / 3 + 0.5, 1)); }
};
/// x * hardsigmoid(x) (Howard et al. 2019).
template <Operand X>
constexpr auto hardswish(X x) {
  return apply<hardswish_op>(std::move(x));
}

struct selu_op : activation<1> {
  static constexpr std::string_view name = "selu";
  static constexpr auto value(auto x) {
    return 1.0507009873554804934193349852946 * where(x <= 0, 1.6732632423543772848170429916717 * expm1(x), x);
  }
  static constexpr auto adjoint(auto g, auto, auto x) {
    return g * where(x <= 0, 1.7580993408473768599402175208123 * exp(x), 1.0507009873554804934193349852946);
  }
};
/// Self-normalising exponential unit (Klambauer et al. 2017).
template <Operand X>
constexpr auto selu(X x) {
  return apply<selu_op>(std::move(x));
}

struct leaky_relu_op : activation<2> {
  static constexpr std::string_view name = "leaky_relu";
  static constexpr auto value(auto x, auto p) { return where(x > 0, x, p * x); }
};
/// x above 0, slope * x below.
template <Operand X>
constexpr auto leaky_relu(X x, double slope = 0.01) {
  return apply<leaky_relu_op>(std::move(x), slope);
}

struct elu_op : activation<2> {
  static constexpr std::string_view name = "elu";
  static constexpr auto value(auto x, auto p) { return where(x <= 0, p * expm1(x), x); }
  static constexpr auto adjoint(auto g, auto, auto x, auto p) {
    return adjoints{where(x <= 0, g * (p * exp(x)), g), no_gradient{}};
  }
};
/// x above 0, alpha * (exp(x) - 1) below.
template <Operand X>
constexpr auto elu(X x, double alpha = 1) {
  return apply<elu_op>(std::move(x), alpha);
}

struct celu_op : activation<2> {
  static constexpr std::string_view name = "celu";
  static constexpr auto value(auto x, auto p) { return where(x <= 0, p * expm1(x / p), x); }
  static constexpr auto adjoint(auto g, auto, auto x, auto p) {
    return adjoints{where(x <= 0, g * exp(x / p), g), no_gradient{}};
  }
};
/// x above 0, alpha * (exp(x / alpha) - 1) below.
template <Operand X>
constexpr auto celu(X x, double alpha = 1) {
  return apply<celu_op>(std::move(x), alpha);
}

struct softshrink_op : activation<2> {
  static constexpr std::string_view name = "softshrink";
  static constexpr auto value(auto x, auto p) { return where(x > p, x - p, where(x < -p, x + p, 0 * x)); }
  static constexpr auto adjoint(auto g, auto, auto x, auto p) {
    return adjoints{where(abs(x) <= p, 0, g), no_gradient{}};
  }
};
/// x moved towards 0 by lambda; 0 within lambda of it.
template <Operand X>
constexpr auto softshrink(X x, double lambda = 0.5) {
  return apply<softshrink_op>(std::move(x), lambda);
}

struct hardshrink_op : activation<2> {
  static constexpr std::string_view name = "hardshrink";
  static constexpr auto value(auto x, auto p) { return where(logical_and(x >= -p, x <= p), 0, x); }
};
/// x, but 0 within lambda of 0.
template <Operand X>
constexpr auto hardshrink(X x, double lambda = 0.5) {
  return apply<hardshrink_op>(std::move(x), lambda);
}

struct softplus_op : activation<3> {
  static constexpr std::string_view name = "softplus";
  static constexpr auto value(auto x, auto p, auto q) {
    return where(x * p > q, x, (maximum(x * p, 0) + log1p(exp(-abs(x * p)))) / p);
  }
  static constexpr auto adjoint(auto g, auto, auto x, auto p, auto q) {
    return adjoints{where(x * p > q, g, g * sigmoid(x * p)), no_gradient{}, no_gradient{}};
  }
};
/// log(1 + exp(beta * x)) / beta; x itself where beta * x is above the limit.
template <Operand X>
constexpr auto softplus(X x, double beta = 1, double limit = 20) {
  return apply<softplus_op>(std::move(x), beta, limit);
}

struct hardtanh_op : limiter<3> {
  static constexpr std::string_view name = "hardtanh";
  static constexpr number_rule numbers(int place) { return place == 1 ? number_rule::lower : number_rule::upper; }
  static constexpr auto value(auto x, auto p, auto q) { return minimum(maximum(x, p), q); }
  static constexpr auto adjoint(auto g, auto, auto x, auto p, auto q) {
    return adjoints{where(logical_or(x <= p, x >= q), 0, g), no_gradient{}, no_gradient{}};
  }
};
/// x limited to [low, high]; no gradient at the limits. Beside integers the limits lose their fractions.
template <Operand X>
constexpr auto hardtanh(X x, double low = -1, double high = 1) {
  if constexpr (IntegerOperand<X>)
    return apply<hardtanh_op>(std::move(x), detail::without_fraction(low, "hardtanh"),
                              detail::without_fraction(high, "hardtanh"));
  else
    return apply<hardtanh_op>(std::move(x), low, high);
}

struct threshold_op : limiter<3> {
  static constexpr std::string_view name = "threshold";
  static constexpr number_rule numbers(int place) { return place == 1 ? number_rule::upper : number_rule::refused; }
  static constexpr auto value(auto x, auto p, auto q) { return where(x <= p, q, x); }
  static constexpr auto adjoint(auto g, auto, auto x, auto p, auto) {
    return adjoints{where(x <= p, 0, g), no_gradient{}, no_gradient{}};
  }
};
/// x where it is above the limit, else the replacement; beside integers both lose their fractions.
template <Operand X>
constexpr auto threshold(X x, double limit, double replacement) {
  if constexpr (IntegerOperand<X>)
    return apply<threshold_op>(std::move(x), detail::without_fraction(limit, "threshold"),
                               detail::without_fraction(replacement, "threshold"));
  else
    return apply<threshold_op>(std::move(x), limit, replacement);
}

}  // namespace kiln
