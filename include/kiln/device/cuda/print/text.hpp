// SPDX-License-Identifier: BSL-1.0
// A value that exists only as a C++ expression: the value rule of an op, called with texts, spells the op in CUDA. The
// functions below are what rules may call; each stands for a device function of the same name in kernels/math.cuh, so
// ops are spelled without being named here.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace kiln::cuda {

/// An expression of category T: float for floating types, int for integers, bool for truth values. `atom` says that it
/// needs no parentheses beside an operator.
template <class T>
struct text {
  using value_type = T;
  std::string code;
  bool atom = true;
};

namespace detail {

template <class T>
std::string operand(const text<T>& x) {
  return x.atom ? x.code : "(" + x.code + ")";
}
template <class R, class T>
text<R> join(const text<T>& a, std::string_view sign, const text<T>& b) {
  return {operand(a) + " " + std::string(sign) + " " + operand(b), false};
}
template <class T>
text<T> prefixed(std::string_view sign, const text<T>& x) {
  return {std::string(sign) + operand(x), false};
}
template <class R, class First, class... Rest>
text<R> call(std::string_view name, const First& first, const Rest&... rest) {
  std::string code(name);
  code += "(" + first.code;
  ((code += ", " + rest.code), ...);
  return {code + ")"};
}
/// Signed integers wrap around, which C++ operators on them do not.
template <class T>
inline constexpr bool wraps = std::same_as<T, int>;

}  // namespace detail

// clang-format off
template <class T> text<T> operator+(const text<T>& a, const text<T>& b) {
  if constexpr (detail::wraps<T>) return detail::call<T>("plus", a, b); else return detail::join<T>(a, "+", b);
}
template <class T> text<T> operator-(const text<T>& a, const text<T>& b) {
  if constexpr (detail::wraps<T>) return detail::call<T>("minus", a, b); else return detail::join<T>(a, "-", b);
}
template <class T> text<T> operator*(const text<T>& a, const text<T>& b) {
  if constexpr (detail::wraps<T>) return detail::call<T>("times", a, b); else return detail::join<T>(a, "*", b);
}
template <class T> text<T> operator-(const text<T>& x) {
  if constexpr (detail::wraps<T>) return detail::call<T>("negative", x); else return detail::prefixed("-", x);
}
template <class T> text<T> operator/(const text<T>& a, const text<T>& b) { return detail::join<T>(a, "/", b); }
template <class T> text<bool> operator==(const text<T>& a, const text<T>& b) { return detail::join<bool>(a, "==", b); }
template <class T> text<bool> operator!=(const text<T>& a, const text<T>& b) { return detail::join<bool>(a, "!=", b); }
template <class T> text<bool> operator<(const text<T>& a, const text<T>& b) { return detail::join<bool>(a, "<", b); }
template <class T> text<bool> operator<=(const text<T>& a, const text<T>& b) { return detail::join<bool>(a, "<=", b); }
template <class T> text<bool> operator>(const text<T>& a, const text<T>& b) { return detail::join<bool>(a, ">", b); }
template <class T> text<bool> operator>=(const text<T>& a, const text<T>& b) { return detail::join<bool>(a, ">=", b); }
template <class T> text<T> operator&(const text<T>& a, const text<T>& b) { return detail::join<T>(a, "&", b); }
template <class T> text<T> operator|(const text<T>& a, const text<T>& b) { return detail::join<T>(a, "|", b); }
template <class T> text<T> operator^(const text<T>& a, const text<T>& b) { return detail::join<T>(a, "^", b); }
template <class T> text<bool> operator!(const text<T>& x) { return {"!" + detail::operand(x), false}; }
// ~true is -2 in C++, which counts as true.
template <class T> text<T> operator~(const text<T>& x) {
  return detail::prefixed(std::same_as<T, bool> ? "!" : "~", x);
}
template <class T> text<T> operator<<(const text<T>& a, const text<T>& b) {
  return detail::call<T>("shift_left", a, b);
}
template <class T> text<T> operator>>(const text<T>& a, const text<T>& b) {
  return detail::call<T>("shift_right", a, b);
}

template <class T> text<T> where(const text<bool>& c, const text<T>& a, const text<T>& b) {
  return detail::call<T>("where", c, a, b);
}
template <class T> text<T> minimum(const text<T>& a, const text<T>& b) { return detail::call<T>("minimum", a, b); }
template <class T> text<T> maximum(const text<T>& a, const text<T>& b) { return detail::call<T>("maximum", a, b); }
// Integers have no quotient by zero: the device functions report it through `fault`.
template <class T> text<T> fmod(const text<T>& a, const text<T>& b) {
  if constexpr (detail::wraps<T>) return detail::call<T>("fmod", a, b, text<T>{"fault"});
  else return detail::call<T>("fmod", a, b);
}
template <class T> text<T> remainder(const text<T>& a, const text<T>& b) {
  if constexpr (detail::wraps<T>) return detail::call<T>("remainder", a, b, text<T>{"fault"});
  else return detail::call<T>("remainder", a, b);
}
template <class T> text<T> pow(const text<T>& a, const text<T>& b) { return detail::call<T>("pow", a, b); }
template <class T> text<T> hypot(const text<T>& a, const text<T>& b) { return detail::call<T>("hypot", a, b); }
template <class T> text<T> atan2(const text<T>& a, const text<T>& b) { return detail::call<T>("atan2", a, b); }
template <class T> text<T> polygamma(const text<T>& n, const text<T>& x) { return detail::call<T>("polygamma", n, x); }

template <class T> text<bool> isnan(const text<T>& x) { return detail::call<bool>("isnan", x); }
template <class T> text<bool> isinf(const text<T>& x) { return detail::call<bool>("isinf", x); }
template <class T> text<bool> isfinite(const text<T>& x) { return detail::call<bool>("isfinite", x); }
template <class T> text<T> abs(const text<T>& x) { return detail::call<T>("abs", x); }
template <class T> text<T> sign(const text<T>& x) { return detail::call<T>("sign", x); }
template <class T> text<T> floor(const text<T>& x) { return detail::call<T>("floor", x); }
template <class T> text<T> ceil(const text<T>& x) { return detail::call<T>("ceil", x); }
template <class T> text<T> round(const text<T>& x) { return detail::call<T>("round", x); }
template <class T> text<T> trunc(const text<T>& x) { return detail::call<T>("trunc", x); }
template <class T> text<T> sqrt(const text<T>& x) { return detail::call<T>("sqrt", x); }
template <class T> text<T> rsqrt(const text<T>& x) { return detail::call<T>("rsqrt", x); }
template <class T> text<T> reciprocal(const text<T>& x) { return detail::call<T>("reciprocal", x); }
template <class T> text<T> exp(const text<T>& x) { return detail::call<T>("exp", x); }
template <class T> text<T> exp2(const text<T>& x) { return detail::call<T>("exp2", x); }
template <class T> text<T> expm1(const text<T>& x) { return detail::call<T>("expm1", x); }
template <class T> text<T> sigmoid(const text<T>& x) { return detail::call<T>("sigmoid", x); }
template <class T> text<T> log(const text<T>& x) { return detail::call<T>("log", x); }
template <class T> text<T> log2(const text<T>& x) { return detail::call<T>("log2", x); }
template <class T> text<T> log10(const text<T>& x) { return detail::call<T>("log10", x); }
template <class T> text<T> log1p(const text<T>& x) { return detail::call<T>("log1p", x); }
template <class T> text<T> sin(const text<T>& x) { return detail::call<T>("sin", x); }
template <class T> text<T> cos(const text<T>& x) { return detail::call<T>("cos", x); }
template <class T> text<T> tan(const text<T>& x) { return detail::call<T>("tan", x); }
template <class T> text<T> asin(const text<T>& x) { return detail::call<T>("asin", x); }
template <class T> text<T> acos(const text<T>& x) { return detail::call<T>("acos", x); }
template <class T> text<T> atan(const text<T>& x) { return detail::call<T>("atan", x); }
template <class T> text<T> sinh(const text<T>& x) { return detail::call<T>("sinh", x); }
template <class T> text<T> cosh(const text<T>& x) { return detail::call<T>("cosh", x); }
template <class T> text<T> tanh(const text<T>& x) { return detail::call<T>("tanh", x); }
template <class T> text<T> asinh(const text<T>& x) { return detail::call<T>("asinh", x); }
template <class T> text<T> acosh(const text<T>& x) { return detail::call<T>("acosh", x); }
template <class T> text<T> atanh(const text<T>& x) { return detail::call<T>("atanh", x); }
template <class T> text<T> erf(const text<T>& x) { return detail::call<T>("erf", x); }
template <class T> text<T> erfc(const text<T>& x) { return detail::call<T>("erfc", x); }
template <class T> text<T> lgamma(const text<T>& x) { return detail::call<T>("lgamma", x); }
template <class T> text<T> digamma(const text<T>& x) { return detail::call<T>("digamma", x); }
// Ops on addresses (ops/take.hpp).
template <class T> text<T> checked_index(const text<T>& index, const text<T>& size) {
  return detail::call<T>("checked_index", index, size, text<T>{"fault"});
}
template <class I, class T> text<T> taken(const text<I>& way, const text<T>& address) {
  return detail::call<T>("taken", way, address);
}
// clang-format on

}  // namespace kiln::cuda
