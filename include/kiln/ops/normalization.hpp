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
    const auto m = row_max(x);
    return x - (m + log(row_sum(exp(x - m))));
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
/// Sum of squared distances from the row's mean; `r` is 1 / (elements in the row). Two passes: exact where one is not.
struct squared_deviation_op : row_reduction<2> {
  static constexpr std::string_view name = "squared_deviation";
  static constexpr auto value(auto x, auto r) {
    const auto d = x - row_sum(x) * r;
    return row_sum(d * d);
  }
};
/// (x - mean) / sqrt(variance + eps).
struct layer_norm_op : row_function<3> {
  static constexpr std::string_view name = "layer_norm";
  static constexpr auto value(auto x, auto r, auto eps) {
    const auto d = x - row_sum(x) * r;
    return d * rsqrt(row_sum(d * d) * r + eps);
  }
};
/// x / sqrt(mean of squares + eps).
struct rms_norm_op : row_function<3> {
  static constexpr std::string_view name = "rms_norm";
  static constexpr auto value(auto x, auto r, auto eps) { return x * rsqrt(row_sum(x * x) * r + eps); }
};

}  // namespace kiln
