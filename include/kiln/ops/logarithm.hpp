// SPDX-License-Identifier: BSL-1.0
// Logarithms.
#pragma once

#include <kiln/ops/op.hpp>

namespace kiln {

struct log_op : floating<1> {
  static constexpr std::string_view name = "log";
  static constexpr auto value(auto x) { return log(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g / x; }
};
/// Natural logarithm; -inf at 0, nan below.
template <Operand X>
constexpr auto log(X x) {
  return apply<log_op>(std::move(x));
}

struct log2_op : floating<1> {
  static constexpr std::string_view name = "log2";
  static constexpr auto value(auto x) { return log2(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g / (x * 0.69314718055994530942); }
};
/// Logarithm to base 2.
template <Operand X>
constexpr auto log2(X x) {
  return apply<log2_op>(std::move(x));
}

struct log10_op : floating<1> {
  static constexpr std::string_view name = "log10";
  static constexpr auto value(auto x) { return log10(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g / (x * 2.30258509299404568402); }
};
/// Logarithm to base 10.
template <Operand X>
constexpr auto log10(X x) {
  return apply<log10_op>(std::move(x));
}

struct log1p_op : floating<1> {
  static constexpr std::string_view name = "log1p";
  static constexpr auto value(auto x) { return log1p(x); }
  static constexpr auto adjoint(auto g, auto, auto x) { return g / (x + 1); }
};
/// log(1 + x), accurate near 0.
template <Operand X>
constexpr auto log1p(X x) {
  return apply<log1p_op>(std::move(x));
}

}  // namespace kiln
