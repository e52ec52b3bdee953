// SPDX-License-Identifier: BSL-1.0
// Row functions: composite ops whose rules use reductions over the row. Each is written once, from primitives; the
// ones with a derivative rule of their own have it because it needs less than differentiating the value rule.
#pragma once

#include <limits>

#include <kiln/ops/reduction.hpp>

namespace kiln {

template <int Arity>
struct row_function : floating<Arity> {
  static constexpr bool composite = true;
  static constexpr bool has_identity = true;
};
template <int Arity>
struct row_reduction : row_function<Arity> {
  static constexpr bool reduces = true;
};

struct softmax_op : row_function<1> {
  static constexpr std::string_view name = "softmax";
  static constexpr auto value(auto x) {
    const auto e = exp(x - row_max(x));
    return e * (1 / row_sum(e));
  }
  static constexpr auto adjoint(auto g, auto y, auto) {
    const auto gy = g * y;
    return gy - y * row_sum(gy);
  }
};
struct log_softmax_op : row_function<1> {
  static constexpr std::string_view name = "log_softmax";
  static constexpr auto value(auto x) {
    // Not x - logsumexp(x): a large maximum would swallow the logarithm.
    const auto d = x - row_max(x);
    return d - log(row_sum(exp(d)));
  }
  static constexpr auto adjoint(auto g, auto y, auto) { return g - exp(y) * row_sum(g); }
};
struct logsumexp_op : row_reduction<1> {
  static constexpr std::string_view name = "logsumexp";
  // An infinite maximum must not be subtracted from itself.
  static constexpr auto value(auto x) {
    const auto m = row_max(x);
    const auto shift = where(isfinite(m), m, 0);
    return shift + log(row_sum(exp(x - shift)));
  }
  static constexpr auto adjoint(auto g, auto y, auto x) {
    return where(y == -std::numeric_limits<double>::infinity(), 0, g * exp(x - y));
  }
};
/// Distances from the mean of a row of n elements. The mean has been rounded, so their average is not quite 0: taken
/// off, it leaves nothing of a row of equal elements (T. Chan, G. Golub and R. LeVeque 1983).
struct distances {
  symbol from_mean, average, squares;  ///< x - mean; what is left of their average; the sum of their squares
  constexpr distances(symbol x, symbol n, symbol scale = {}) {
    from_mean = scale.on ? (x - row_sum(x) / n) * scale : x - row_sum(x) / n;
    const symbol rest = row_sum(from_mean);
    average = rest / n;
    squares = maximum(row_sum(from_mean * from_mean) - rest * average, 0);
  }
};
/// Sum of squared distances from the row's mean; `n` is the number of elements in the row. Two passes: exact where one
/// is not.
struct squared_deviation_op : row_reduction<2> {
  static constexpr std::string_view name = "squared_deviation";
  static constexpr auto value(auto x, auto n) { return distances(x, n).squares; }
  static constexpr auto adjoint(auto g, auto, auto x, auto n) {
    return adjoints{(2 * g) * (x - row_sum(x) / n), no_gradient{}};
  }
};
/// sqrt(sum of squared distances from the mean / divisor).
struct standard_deviation_op : row_reduction<3> {
  static constexpr std::string_view name = "standard_deviation";
  // Squares of what is very large or small would over- or underflow: a power of two is taken out first.
  static constexpr auto value(auto x, auto n, auto divisor) {
    const bool twice = in_double(x);
    const auto size = row_max(abs(x));
    const auto scale = where(size > (twice ? 0x1p480 : 0x1p48), twice ? 0x1p-750 : 0x1p-80,
                             where(size < (twice ? 0x1p-400 : 0x1p-36), twice ? 0x1p600 : 0x1p92, constant_like(x, 1)));
    return sqrt(distances(x, n, scale).squares / divisor) / scale;
  }
  static constexpr auto adjoint(auto g, auto y, auto x, auto n, auto divisor) {
    // The distance by y first: 1 / y alone has a derivative that underflows where x and y are large.
    return adjoints{where(y == 0, 0, g / divisor * ((x - row_sum(x) / n) / y)), no_gradient{}, no_gradient{}};
  }
};
/// (x - mean) / sqrt(variance + eps).
struct layer_norm_op : row_function<3> {
  static constexpr std::string_view name = "layer_norm";
  static constexpr auto value(auto x, auto n, auto eps) {
    const distances d(x, n);
    return (d.from_mean - d.average) * rsqrt(d.squares / n + eps);
  }
  // Not from the result: the operand is read anyway. The product's sum comes with the squares', in one pass.
  static constexpr auto adjoint(auto g, auto, auto x, auto n, auto eps) {
    const distances d(x, n);
    const auto inverse = rsqrt(d.squares / n + eps), total = row_sum(g);
    const auto product = (row_sum(g * d.from_mean) - d.average * total) * inverse;
    const auto y = (d.from_mean - d.average) * inverse;
    return adjoints{inverse * (g - total / n - y * (product / n)), no_gradient{}, no_gradient{}};
  }
};
/// x / sqrt(mean of squares + eps).
struct rms_norm_op : row_function<3> {
  static constexpr std::string_view name = "rms_norm";
  static constexpr auto value(auto x, auto n, auto eps) { return x * rsqrt(row_sum(x * x) / n + eps); }
};

}  // namespace kiln
