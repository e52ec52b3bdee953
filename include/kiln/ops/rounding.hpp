// SPDX-License-Identifier: BSL-1.0
// Steps: rounding and sign. Their derivative is zero wherever it exists.
#pragma once

#include <kiln/ops/op.hpp>

namespace kiln {

struct floor_op : arithmetic<1> {
  static constexpr std::string_view name = "floor";
  static constexpr auto value(auto x) { return floor(x); }
  static constexpr auto value(Whole auto x) { return x; }
  static constexpr auto adjoint(auto, auto, auto) { return no_gradient{}; }
};
/// The largest integer not above x.
template <Operand X>
constexpr auto floor(X x) {
  return apply<floor_op>(std::move(x));
}

struct ceil_op : arithmetic<1> {
  static constexpr std::string_view name = "ceil";
  static constexpr auto value(auto x) { return ceil(x); }
  static constexpr auto value(Whole auto x) { return x; }
  static constexpr auto adjoint(auto, auto, auto) { return no_gradient{}; }
};
/// The smallest integer not below x.
template <Operand X>
constexpr auto ceil(X x) {
  return apply<ceil_op>(std::move(x));
}

struct round_op : arithmetic<1> {
  static constexpr std::string_view name = "round";
  static constexpr auto value(auto x) { return round(x); }
  static constexpr auto value(Whole auto x) { return x; }
  static constexpr auto adjoint(auto, auto, auto) { return no_gradient{}; }
};
/// The nearest integer; halves go to the even one, as in PyTorch and NumPy.
template <Operand X>
constexpr auto round(X x) {
  return apply<round_op>(std::move(x));
}

struct trunc_op : arithmetic<1> {
  static constexpr std::string_view name = "trunc";
  static constexpr auto value(auto x) { return trunc(x); }
  static constexpr auto value(Whole auto x) { return x; }
  static constexpr auto adjoint(auto, auto, auto) { return no_gradient{}; }
};
/// x without its fraction.
template <Operand X>
constexpr auto trunc(X x) {
  return apply<trunc_op>(std::move(x));
}

struct sign_op : arithmetic<1> {
  static constexpr std::string_view name = "sign";
  static constexpr auto value(auto x) { return sign(x); }
  static constexpr auto value(Truth auto x) { return x; }
  static constexpr auto adjoint(auto, auto, auto) { return no_gradient{}; }
};
/// -1, 0 or 1; nan stays nan.
template <Operand X>
constexpr auto sign(X x) {
  return apply<sign_op>(std::move(x));
}

}  // namespace kiln
