// SPDX-License-Identifier: BSL-1.0
// A value that exists only as text of a language like C++: the value rule of an op, called with texts, spells the op,
// so no printer names an op. The functions below are what rules may call. Operators are printed as such; what a
// function is called, or written as, says the language: CUDA's (device/cuda/print/text.hpp) calls device functions of
// the same names, plain C++ (transform/cpp_text.hpp) those of the standard library.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::spelled {

/// An expression of category T: float for floating types, int for integers, bool for truth values. `atom` says that it
/// needs no parentheses beside an operator. A `Language` has `call(name, operands)`, which gives the text of a function
/// of them as an atom.
template <class T, class Language>
struct text {
  using value_type = T;
  std::string code;
  bool atom = true;
};

namespace detail {

template <class T, class L>
std::string operand(const text<T, L>& x) {
  return x.atom ? x.code : "(" + x.code + ")";
}
template <class R, class T, class L>
text<R, L> join(const text<T, L>& a, std::string_view sign, const text<T, L>& b) {
  return {operand(a) + " " + std::string(sign) + " " + operand(b), false};
}
template <class T, class L>
text<T, L> prefixed(std::string_view sign, const text<T, L>& x) {
  return {std::string(sign) + operand(x), false};
}
template <class R, class First, class L, class... Rest>
text<R, L> call(std::string_view name, const text<First, L>& first, const Rest&... rest) {
  return {L::call(name, std::vector<std::string>{first.code, rest.code...})};
}
/// Signed integers wrap around, which C++ operators on them do not.
template <class T>
inline constexpr bool wraps = std::same_as<T, int>;

}  // namespace detail

template <class T, class L>
text<T, L> operator+(const text<T, L>& a, const text<T, L>& b) {
  if constexpr (detail::wraps<T>)
    return detail::call<T>("plus", a, b);
  else
    return detail::join<T>(a, "+", b);
}
template <class T, class L>
text<T, L> operator-(const text<T, L>& a, const text<T, L>& b) {
  if constexpr (detail::wraps<T>)
    return detail::call<T>("minus", a, b);
  else
    return detail::join<T>(a, "-", b);
}
template <class T, class L>
text<T, L> operator*(const text<T, L>& a, const text<T, L>& b) {
  if constexpr (detail::wraps<T>)
    return detail::call<T>("times", a, b);
  else
    return detail::join<T>(a, "*", b);
}
template <class T, class L>
text<T, L> operator-(const text<T, L>& x) {
  if constexpr (detail::wraps<T>)
    return detail::call<T>("negative", x);
  else
    return detail::prefixed("-", x);
}
template <class T, class L>
text<T, L> operator/(const text<T, L>& a, const text<T, L>& b) {
  return detail::join<T>(a, "/", b);
}
template <class T, class L>
text<bool, L> operator==(const text<T, L>& a, const text<T, L>& b) {
  return detail::join<bool>(a, "==", b);
}
template <class T, class L>
text<bool, L> operator!=(const text<T, L>& a, const text<T, L>& b) {
  return detail::join<bool>(a, "!=", b);
}
template <class T, class L>
text<bool, L> operator<(const text<T, L>& a, const text<T, L>& b) {
  return detail::join<bool>(a, "<", b);
}
template <class T, class L>
text<bool, L> operator<=(const text<T, L>& a, const text<T, L>& b) {
  return detail::join<bool>(a, "<=", b);
}
template <class T, class L>
text<bool, L> operator>(const text<T, L>& a, const text<T, L>& b) {
  return detail::join<bool>(a, ">", b);
}
template <class T, class L>
text<bool, L> operator>=(const text<T, L>& a, const text<T, L>& b) {
  return detail::join<bool>(a, ">=", b);
}
template <class T, class L>
text<T, L> operator&(const text<T, L>& a, const text<T, L>& b) {
  return detail::join<T>(a, "&", b);
}
template <class T, class L>
text<T, L> operator|(const text<T, L>& a, const text<T, L>& b) {
  return detail::join<T>(a, "|", b);
}
template <class T, class L>
text<T, L> operator^(const text<T, L>& a, const text<T, L>& b) {
  return detail::join<T>(a, "^", b);
}
template <class T, class L>
text<bool, L> operator!(const text<T, L>& x) {
  return {"!" + detail::operand(x), false};
}
// ~true is -2 in C++, which counts as true.
template <class T, class L>
text<T, L> operator~(const text<T, L>& x) {
  return detail::prefixed(std::same_as<T, bool> ? "!" : "~", x);
}
template <class T, class L>
text<T, L> operator<<(const text<T, L>& a, const text<T, L>& b) {
  return detail::call<T>("shift_left", a, b);
}
template <class T, class L>
text<T, L> operator>>(const text<T, L>& a, const text<T, L>& b) {
  return detail::call<T>("shift_right", a, b);
}

template <class T, class L>
text<T, L> where(const text<bool, L>& c, const text<T, L>& a, const text<T, L>& b) {
  return detail::call<T>("where", c, a, b);
}
template <class T, class L>
text<T, L> minimum(const text<T, L>& a, const text<T, L>& b) {
  return detail::call<T>("minimum", a, b);
}
template <class T, class L>
text<T, L> maximum(const text<T, L>& a, const text<T, L>& b) {
  return detail::call<T>("maximum", a, b);
}
// Integers have no quotient by zero: the device functions report it through `fault`.
template <class T, class L>
text<T, L> fmod(const text<T, L>& a, const text<T, L>& b) {
  if constexpr (detail::wraps<T>)
    return detail::call<T>("fmod", a, b, text<T, L>{"fault"});
  else
    return detail::call<T>("fmod", a, b);
}
template <class T, class L>
text<T, L> remainder(const text<T, L>& a, const text<T, L>& b) {
  if constexpr (detail::wraps<T>)
    return detail::call<T>("remainder", a, b, text<T, L>{"fault"});
  else
    return detail::call<T>("remainder", a, b);
}
template <class T, class L>
text<T, L> pow(const text<T, L>& a, const text<T, L>& b) {
  return detail::call<T>("pow", a, b);
}
template <class T, class L>
text<T, L> hypot(const text<T, L>& a, const text<T, L>& b) {
  return detail::call<T>("hypot", a, b);
}
template <class T, class L>
text<T, L> atan2(const text<T, L>& a, const text<T, L>& b) {
  return detail::call<T>("atan2", a, b);
}
template <class T, class L>
text<T, L> polygamma(const text<T, L>& n, const text<T, L>& x) {
  return detail::call<T>("polygamma", n, x);
}

template <class T, class L>
text<bool, L> isnan(const text<T, L>& x) {
  return detail::call<bool>("isnan", x);
}
template <class T, class L>
text<bool, L> isinf(const text<T, L>& x) {
  return detail::call<bool>("isinf", x);
}
template <class T, class L>
text<bool, L> isfinite(const text<T, L>& x) {
  return detail::call<bool>("isfinite", x);
}
template <class T, class L>
text<T, L> abs(const text<T, L>& x) {
  return detail::call<T>("abs", x);
}
template <class T, class L>
text<T, L> sign(const text<T, L>& x) {
  return detail::call<T>("sign", x);
}
template <class T, class L>
text<T, L> floor(const text<T, L>& x) {
  return detail::call<T>("floor", x);
}
template <class T, class L>
text<T, L> ceil(const text<T, L>& x) {
  return detail::call<T>("ceil", x);
}
template <class T, class L>
text<T, L> round(const text<T, L>& x) {
  return detail::call<T>("round", x);
}
template <class T, class L>
text<T, L> trunc(const text<T, L>& x) {
  return detail::call<T>("trunc", x);
}
template <class T, class L>
text<T, L> sqrt(const text<T, L>& x) {
  return detail::call<T>("sqrt", x);
}
template <class T, class L>
text<T, L> rsqrt(const text<T, L>& x) {
  return detail::call<T>("rsqrt", x);
}
template <class T, class L>
text<T, L> reciprocal(const text<T, L>& x) {
  return detail::call<T>("reciprocal", x);
}
template <class T, class L>
text<T, L> exp(const text<T, L>& x) {
  return detail::call<T>("exp", x);
}
template <class T, class L>
text<T, L> exp2(const text<T, L>& x) {
  return detail::call<T>("exp2", x);
}
template <class T, class L>
text<T, L> expm1(const text<T, L>& x) {
  return detail::call<T>("expm1", x);
}
template <class T, class L>
text<T, L> sigmoid(const text<T, L>& x) {
  return detail::call<T>("sigmoid", x);
}
template <class T, class L>
text<T, L> log(const text<T, L>& x) {
  return detail::call<T>("log", x);
}
template <class T, class L>
text<T, L> log2(const text<T, L>& x) {
  return detail::call<T>("log2", x);
}
template <class T, class L>
text<T, L> log10(const text<T, L>& x) {
  return detail::call<T>("log10", x);
}
template <class T, class L>
text<T, L> log1p(const text<T, L>& x) {
  return detail::call<T>("log1p", x);
}
template <class T, class L>
text<T, L> sin(const text<T, L>& x) {
  return detail::call<T>("sin", x);
}
template <class T, class L>
text<T, L> cos(const text<T, L>& x) {
  return detail::call<T>("cos", x);
}
template <class T, class L>
text<T, L> tan(const text<T, L>& x) {
  return detail::call<T>("tan", x);
}
template <class T, class L>
text<T, L> asin(const text<T, L>& x) {
  return detail::call<T>("asin", x);
}
template <class T, class L>
text<T, L> acos(const text<T, L>& x) {
  return detail::call<T>("acos", x);
}
template <class T, class L>
text<T, L> atan(const text<T, L>& x) {
  return detail::call<T>("atan", x);
}
template <class T, class L>
text<T, L> sinh(const text<T, L>& x) {
  return detail::call<T>("sinh", x);
}
template <class T, class L>
text<T, L> cosh(const text<T, L>& x) {
  return detail::call<T>("cosh", x);
}
template <class T, class L>
text<T, L> tanh(const text<T, L>& x) {
  return detail::call<T>("tanh", x);
}
template <class T, class L>
text<T, L> asinh(const text<T, L>& x) {
  return detail::call<T>("asinh", x);
}
template <class T, class L>
text<T, L> acosh(const text<T, L>& x) {
  return detail::call<T>("acosh", x);
}
template <class T, class L>
text<T, L> atanh(const text<T, L>& x) {
  return detail::call<T>("atanh", x);
}
template <class T, class L>
text<T, L> erf(const text<T, L>& x) {
  return detail::call<T>("erf", x);
}
template <class T, class L>
text<T, L> erfc(const text<T, L>& x) {
  return detail::call<T>("erfc", x);
}
template <class T, class L>
text<T, L> gaussian(const text<T, L>& x) {
  return detail::call<T>("gaussian", x);
}
template <class T, class L>
text<T, L> ndtr(const text<T, L>& x) {
  return detail::call<T>("ndtr", x);
}
template <class T, class L>
text<T, L> lgamma(const text<T, L>& x) {
  return detail::call<T>("lgamma", x);
}
template <class T, class L>
text<T, L> digamma(const text<T, L>& x) {
  return detail::call<T>("digamma", x);
}
// Ops on addresses (ops/take.hpp).
template <class T, class L>
text<T, L> checked_index(const text<T, L>& index, const text<T, L>& size) {
  return detail::call<T>("checked_index", index, size, text<T, L>{"fault"});
}
template <class I, class T, class L>
text<T, L> taken(const text<I, L>& way, const text<T, L>& address) {
  return detail::call<T>("taken", way, address);
}

}  // namespace kiln::spelled
