// SPDX-License-Identifier: BSL-1.0
// Ops on plain numbers: relu(0.5f), where(x < 1, x, 1.0f). Each is the op's own value rule, run on one number, so a
// function written with kiln's functions is a function of numbers too. No tape, no memory.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include <kiln/device/cpu/simd/normal.hpp>
#include <kiln/device/cpu/simd/polygamma.hpp>
#include <kiln/device/cpu/simd/power.hpp>
#include <kiln/expr/node.hpp>
#include <kiln/ops/all.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// One number, in the part that a vector has in kernels: the primitive ops as functions on it.
template <class T>
struct plain {
  using operand = void;
  using value_type = T;
  T v;

  friend constexpr plain operator+(plain a, plain b) { return {static_cast<T>(a.v + b.v)}; }
  friend constexpr plain operator-(plain a, plain b) { return {static_cast<T>(a.v - b.v)}; }
  friend constexpr plain operator*(plain a, plain b) { return {static_cast<T>(a.v * b.v)}; }
  friend constexpr plain operator/(plain a, plain b) { return {static_cast<T>(a.v / b.v)}; }
  friend constexpr plain operator-(plain a) { return {static_cast<T>(-a.v)}; }
  friend constexpr plain operator&(plain a, plain b) { return {static_cast<T>(a.v & b.v)}; }
  friend constexpr plain operator|(plain a, plain b) { return {static_cast<T>(a.v | b.v)}; }
  friend constexpr plain operator^(plain a, plain b) { return {static_cast<T>(a.v ^ b.v)}; }
  friend constexpr plain operator<<(plain a, plain b) { return {static_cast<T>(a.v << b.v)}; }
  friend constexpr plain operator>>(plain a, plain b) { return {static_cast<T>(a.v >> b.v)}; }
  friend constexpr plain operator~(plain a) {
    if constexpr (std::same_as<T, bool>)
      return {!a.v};
    else
      return {static_cast<T>(~a.v)};
  }
  friend constexpr plain operator!(plain a) { return {!a.v}; }
  friend constexpr plain<bool> operator==(plain a, plain b) { return {a.v == b.v}; }
  friend constexpr plain<bool> operator!=(plain a, plain b) { return {a.v != b.v}; }
  friend constexpr plain<bool> operator<(plain a, plain b) { return {a.v < b.v}; }
  friend constexpr plain<bool> operator<=(plain a, plain b) { return {a.v <= b.v}; }
  friend constexpr plain<bool> operator>(plain a, plain b) { return {a.v > b.v}; }
  friend constexpr plain<bool> operator>=(plain a, plain b) { return {a.v >= b.v}; }
  friend constexpr plain where(plain<bool> c, plain a, plain b) { return {c.v ? a.v : b.v}; }
  friend constexpr plain minimum(plain a, plain b) { return {a.v < b.v || a.v != a.v ? a.v : b.v}; }
  friend constexpr plain maximum(plain a, plain b) { return {a.v > b.v || a.v != a.v ? a.v : b.v}; }
  friend constexpr plain<bool> isnan(plain x) { return {x.v != x.v}; }
  friend constexpr plain<bool> isinf(plain x) {
    return {x.v == std::numeric_limits<T>::infinity() || x.v == -std::numeric_limits<T>::infinity()};
  }
  friend constexpr plain<bool> isfinite(plain x) { return {x.v - x.v == 0}; }
  friend constexpr plain abs(plain x) { return {x.v < 0 ? static_cast<T>(-x.v) : x.v == 0 ? T(0) : x.v}; }
  friend constexpr plain sign(plain x) { return {x.v > 0 ? T(1) : x.v < 0 ? T(-1) : x.v}; }

  friend constexpr plain sqrt(plain x) { return {std::sqrt(x.v)}; }
  friend constexpr plain rsqrt(plain x) { return {1 / std::sqrt(x.v)}; }
  friend constexpr plain reciprocal(plain x) { return {1 / x.v}; }
  friend constexpr plain pow(plain a, plain b) {
    if constexpr (std::integral<T>)
      return {integer_power(a.v, b.v)};
    else
      return {std::pow(a.v, b.v)};
  }
  friend constexpr plain hypot(plain a, plain b) { return {std::hypot(a.v, b.v)}; }
  friend constexpr plain floor(plain x) { return {std::floor(x.v)}; }
  friend constexpr plain ceil(plain x) { return {std::ceil(x.v)}; }
  friend constexpr plain round(plain x) { return {std::nearbyint(x.v)}; }
  friend constexpr plain trunc(plain x) { return {std::trunc(x.v)}; }
  friend constexpr plain fmod(plain a, plain b) { return {std::fmod(a.v, b.v)}; }
  friend constexpr plain remainder(plain a, plain b) {
    const T r = std::fmod(a.v, b.v);
    return {r != 0 && (r < 0) != (b.v < 0) ? r + b.v : r};
  }
  friend constexpr plain exp(plain x) { return {std::exp(x.v)}; }
  friend constexpr plain exp2(plain x) { return {std::exp2(x.v)}; }
  friend constexpr plain expm1(plain x) { return {std::expm1(x.v)}; }
  friend constexpr plain sigmoid(plain x) { return {1 / (1 + std::exp(-x.v))}; }
  friend constexpr plain log(plain x) { return {std::log(x.v)}; }
  friend constexpr plain log2(plain x) { return {std::log2(x.v)}; }
  friend constexpr plain log10(plain x) { return {std::log10(x.v)}; }
  friend constexpr plain log1p(plain x) { return {std::log1p(x.v)}; }
  friend constexpr plain sin(plain x) { return {std::sin(x.v)}; }
  friend constexpr plain cos(plain x) { return {std::cos(x.v)}; }
  friend constexpr plain tan(plain x) { return {std::tan(x.v)}; }
  friend constexpr plain asin(plain x) { return {std::asin(x.v)}; }
  friend constexpr plain acos(plain x) { return {std::acos(x.v)}; }
  friend constexpr plain atan(plain x) { return {std::atan(x.v)}; }
  friend constexpr plain atan2(plain a, plain b) { return {std::atan2(a.v, b.v)}; }
  friend constexpr plain sinh(plain x) { return {std::sinh(x.v)}; }
  friend constexpr plain cosh(plain x) { return {std::cosh(x.v)}; }
  friend constexpr plain tanh(plain x) { return {std::tanh(x.v)}; }
  friend constexpr plain asinh(plain x) { return {std::asinh(x.v)}; }
  friend constexpr plain acosh(plain x) { return {std::acosh(x.v)}; }
  friend constexpr plain atanh(plain x) { return {std::atanh(x.v)}; }
  friend constexpr plain erf(plain x) { return {std::erf(x.v)}; }
  friend constexpr plain erfc(plain x) { return {std::erfc(x.v)}; }
  friend plain gaussian(plain x) { return {gaussian_of(x.v)}; }
  friend plain ndtr(plain x) { return {ndtr_of(x.v)}; }
  friend plain lgamma(plain x) { return {std::lgamma(x.v)}; }
  friend plain digamma(plain x) { return {static_cast<T>(digamma_of(static_cast<double>(x.v)))}; }
  friend plain polygamma(plain n, plain x) {
    return {static_cast<T>(polygamma_of(static_cast<double>(n.v), static_cast<double>(x.v)))};
  }
};

template <class To, class T>
constexpr plain<To> plain_as(plain<T> x) {
  if constexpr (std::same_as<To, bool>)
    return {x.v != 0};
  else
    return {static_cast<To>(x.v)};
}
template <class To, kiln::Number S>
constexpr plain<To> plain_as(S x) {
  return plain_as<To>(plain<S>{x});
}

/// The element type of an op on these numbers: float if one of them is one (a double beside it is taken for a number
/// that was written down, as 2.0 beside a tensor of floats), else double if one is, else the integers'.
template <class... X>
using plain_common_t =
    std::conditional_t<(std::same_as<X, float> || ...), float,
                       std::conditional_t<(std::same_as<X, double> || ...), double,
                                          std::conditional_t<(std::same_as<X, bool> && ...), bool, std::int64_t>>>;

template <class X>
inline constexpr bool is_plain = false;
template <class T>
inline constexpr bool is_plain<plain<T>> = true;

}  // namespace kiln::cpu::inline KILN_VERSION_ISA

namespace kiln {

namespace detail {
template <class... X>
struct plain_type {
  using type = cpu::plain_common_t<X...>;
};
// Within a rule, a number raises the type of the operands only from integers: 0.5 * x is of the type of x.
template <class... X>
  requires(cpu::is_plain<X> || ...)
struct plain_type<X...> {
  template <class Y>
  struct known : std::type_identity<bool> {};
  template <class T>
  struct known<cpu::plain<T>> : std::type_identity<T> {};
  template <class Y>
  struct number : std::type_identity<bool> {};
  template <Number S>
  struct number<S> : std::type_identity<S> {};
  using type =
      typename with_numbers<cpu::plain_common_t<typename known<X>::type...>, typename number<X>::type...>::type;
};

}  // namespace detail

/// Applies an op to plain numbers (or, within its rules, to one of them in the part of a vector).
template <class Op, class... X>
  requires((Number<X> || cpu::is_plain<X>)&&...)
constexpr auto apply_op(op_tag<Op>, X... x) {
  using P = typename detail::plain_type<X...>::type;
  static_assert(Op::accepts(dtype_of<P>), "kiln: this operation is not defined for numbers of this type");
  using C = element_t<Op::common(dtype_of<P>)>;
  const auto y = Op::value(cpu::plain_as<C>(x)...);
  if constexpr ((cpu::is_plain<X> || ...))
    return y;
  else
    return y.v;
}
/// `where`: the condition is a truth value and says nothing of the type.
template <class C, class A, class B>
  requires((Number<C> || cpu::is_plain<C>)&&(Number<A> || cpu::is_plain<A>)&&(Number<B> || cpu::is_plain<B>))
constexpr auto apply_op(op_tag<where_op>, C c, A a, B b) {
  using T = typename detail::plain_type<A, B>::type;
  const cpu::plain<T> y = where(cpu::plain_as<bool>(c), cpu::plain_as<T>(a), cpu::plain_as<T>(b));
  if constexpr (cpu::is_plain<C> || cpu::is_plain<A> || cpu::is_plain<B>)
    return y;
  else
    return y.v;
}

/// a if the condition holds, else b: of numbers none of which is a float or double, in their common C++ type.
template <Number C, Number A, Number B>
  requires(!Operands<C, A, B>)
constexpr auto where(C condition, A a, B b) {
  using T = std::common_type_t<A, B>;
  return condition ? static_cast<T>(a) : static_cast<T>(b);
}
template <Number A, Number B>
  requires(!Operands<A, B>)
constexpr bool logical_and(A a, B b) {
  return a != 0 && b != 0;
}
template <Number A, Number B>
  requires(!Operands<A, B>)
constexpr bool logical_or(A a, B b) {
  return a != 0 || b != 0;
}
template <Number A, Number B>
  requires(!Operands<A, B>)
constexpr bool logical_xor(A a, B b) {
  return (a != 0) != (b != 0);
}
template <Number A>
  requires(!Operand<A>)
constexpr bool logical_not(A a) {
  return a == 0;
}

}  // namespace kiln
