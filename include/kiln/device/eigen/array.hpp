// SPDX-License-Identifier: BSL-1.0
// How op rules are read by Eigen: a value that is a lazy Eigen array expression. The value rule of an op, called with
// such values, gives a larger expression, which Eigen runs in one loop over the registers that it knows. What Eigen
// lacks (`lacks_op`), and everything on integers and truth values, goes element by element through the same rule on one
// number (`scalar_rule`).
#pragma once

#include <Eigen/Core>

#include <array>
#include <concepts>
#include <type_traits>

#include <kiln/device/cpu/kernel/plain.hpp>
#include <kiln/device/cpu/simd/all.hpp>
#include <kiln/ops/all.hpp>

namespace kiln::eigen::inline KILN_VERSION_ISA {

using Eigen::Index;

template <class T>
using array = Eigen::Array<T, Eigen::Dynamic, 1>;
/// Elements side by side in memory, to be read.
template <class T, int Alignment = Eigen::Unaligned>
using elements = Eigen::Map<const array<T>, Alignment>;
/// Elements side by side in memory, to be written.
template <class T, int Alignment = Eigen::Unaligned>
using places = Eigen::Map<array<T>, Alignment>;

/// A value of element type T as the Eigen expression X.
template <class T, class X>
struct lazy {
  using operand = void;
  using value_type = T;
  X x;
};
template <class X>
constexpr auto made(const X& x) {
  return lazy<typename X::Scalar, X>{x};
}

/// The larger or smaller of two numbers, nan if one is: Eigen's own.
template <class T, bool Largest>
using extreme = std::conditional_t<Largest, Eigen::internal::scalar_max_op<T, T, Eigen::PropagateNaN>,
                                   Eigen::internal::scalar_min_op<T, T, Eigen::PropagateNaN>>;
/// The same where the second waits for nothing: a number, or the next element of a reduction. Eigen's asks both whether
/// they are nan, which takes as long as all the rest; where the first is, its plain maximum gives that back.
template <class T, bool Largest>
struct extreme_so_far : extreme<T, Largest> {
  template <class Packet>
  Packet packetOp(const Packet& a, const Packet& b) const {
    namespace in = Eigen::internal;
    return in::pselect(in::pcmp_eq(b, b), Largest ? in::pmax(a, b) : in::pmin(a, b), b);
  }
};
template <bool Largest, class T, class A, class B>
auto extreme_of(const lazy<T, A>& a, const lazy<T, B>& b) {
  using constant = Eigen::CwiseNullaryOp<Eigen::internal::scalar_constant_op<T>, array<T>>;
  if constexpr (std::same_as<B, constant>)
    return made(a.x.binaryExpr(b.x, extreme_so_far<T, Largest>{}));
  else if constexpr (std::same_as<A, constant>)
    return made(b.x.binaryExpr(a.x, extreme_so_far<T, Largest>{}));
  else
    return made(a.x.binaryExpr(b.x, extreme<T, Largest>{}));
}

/// A comparison of vectors, all bits or none where it holds or not, of single numbers 1 or 0; and the choice by one, as
/// Eigen's pselect takes them. '-' is "at most".
template <class T, char Kind>
struct truth {
  template <class Packet>
  Packet packetOp(const Packet& a, const Packet& b) const {
    namespace in = Eigen::internal;
    return Kind == '=' ? in::pcmp_eq(a, b) : Kind == '<' ? in::pcmp_lt(a, b) : in::pcmp_le(a, b);
  }
  template <class Packet>
  Packet packetOp(const Packet& c, const Packet& a, const Packet& b) const {
    return Eigen::internal::pselect(c, a, b);
  }
  T operator()(T a, T b) const { return T(Kind == '=' ? a == b : Kind == '<' ? a < b : a <= b); }
  T operator()(T c, T a, T b) const { return c != 0 ? a : b; }
};
/// Truth values, each as a number.
template <char Kind, class T, class A, class B>
auto truths(const lazy<T, A>& a, const lazy<T, B>& b) {
  return lazy<bool, Eigen::CwiseBinaryOp<truth<T, Kind>, const A, const B>>{{a.x, b.x}};
}
/// Each as a truth value.
template <class T, class X>
auto plain(const lazy<T, X>& a) {
  if constexpr (std::same_as<T, typename X::Scalar>)
    return a;
  else
    return made(a.x.unaryExpr([](auto v) { return v != 0; }));
}
template <class T, class C, class A, class B>
auto where(const lazy<bool, C>& c, const lazy<T, A>& a, const lazy<T, B>& b) {
  if constexpr (std::same_as<T, typename C::Scalar>)
    return made(Eigen::CwiseTernaryOp<truth<T, '?'>, const C, const A, const B>(c.x, a.x, b.x));
  else
    return made(plain(c).x.select(a.x, b.x));
}

// ---- what rules may call -----------------------------------------------------------------------------------

// clang-format off
template <class T, class A, class B> auto operator+(lazy<T, A> a, lazy<T, B> b) { return made(a.x + b.x); }
template <class T, class A, class B> auto operator-(lazy<T, A> a, lazy<T, B> b) { return made(a.x - b.x); }
template <class T, class A, class B> auto operator*(lazy<T, A> a, lazy<T, B> b) { return made(a.x * b.x); }
template <class T, class A, class B> auto operator/(lazy<T, A> a, lazy<T, B> b) { return made(a.x / b.x); }
template <class T, class A> auto operator-(const lazy<T, A>& a) { return made(-a.x); }
template <class T, class A, class B> auto operator==(lazy<T, A> a, lazy<T, B> b) { return truths<'='>(a, b); }
template <class T, class A, class B> auto operator!=(lazy<T, A> a, lazy<T, B> b) { return made(a.x != b.x); }
template <class T, class A, class B> auto operator<(lazy<T, A> a, lazy<T, B> b) { return truths<'<'>(a, b); }
template <class T, class A, class B> auto operator<=(lazy<T, A> a, lazy<T, B> b) { return truths<'-'>(a, b); }
template <class T, class A, class B> auto operator>(lazy<T, A> a, lazy<T, B> b) { return truths<'<'>(b, a); }
template <class T, class A, class B> auto operator>=(lazy<T, A> a, lazy<T, B> b) { return truths<'-'>(b, a); }
template <class T, class A, class B> auto minimum(lazy<T, A> a, lazy<T, B> b) { return extreme_of<false>(a, b); }
template <class T, class A, class B> auto maximum(lazy<T, A> a, lazy<T, B> b) { return extreme_of<true>(a, b); }
template <class T, class A, class B> auto pow(lazy<T, A> a, lazy<T, B> b) { return made(Eigen::pow(a.x, b.x)); }
template <class T, class A> auto isnan(const lazy<T, A>& a) { return made(a.x.isNaN()); }
template <class T, class A> auto isinf(const lazy<T, A>& a) { return made(a.x.isInf()); }
template <class T, class A> auto isfinite(const lazy<T, A>& a) { return made(a.x.isFinite()); }
template <class T, class A> auto abs(const lazy<T, A>& a) { return made(a.x.abs()); }
template <class T, class A> auto sqrt(const lazy<T, A>& a) { return made(a.x.sqrt()); }
template <class T, class A> auto rsqrt(const lazy<T, A>& a) { return made(a.x.sqrt().inverse()); }
template <class T, class A> auto reciprocal(const lazy<T, A>& a) { return made(a.x.inverse()); }
template <class T, class A> auto floor(const lazy<T, A>& a) { return made(a.x.floor()); }
template <class T, class A> auto ceil(const lazy<T, A>& a) { return made(a.x.ceil()); }
template <class T, class A> auto round(const lazy<T, A>& a) { return made(a.x.rint()); }
template <class T, class A> auto exp(const lazy<T, A>& a) { return made(a.x.exp()); }
template <class T, class A> auto log(const lazy<T, A>& a) { return made(a.x.log()); }
template <class T, class A> auto log2(const lazy<T, A>& a) { return made(a.x.log2()); }
template <class T, class A> auto log10(const lazy<T, A>& a) { return made(a.x.log10()); }
template <class T, class A> auto sign(const lazy<T, A>& a) { return made(a.x.sign()); }
template <class T, class A> auto expm1(const lazy<T, A>& a) { return made(a.x.expm1()); }
template <class T, class A> auto sigmoid(const lazy<T, A>& a) { return made(a.x.logistic()); }
template <class T, class A> auto log1p(const lazy<T, A>& a) { return made(a.x.log1p()); }
template <class T, class A> auto sin(const lazy<T, A>& a) { return made(a.x.sin()); }
template <class T, class A> auto cos(const lazy<T, A>& a) { return made(a.x.cos()); }
template <class T, class A> auto tan(const lazy<T, A>& a) { return made(a.x.tan()); }
template <class T, class A> auto asin(const lazy<T, A>& a) { return made(a.x.asin()); }
template <class T, class A> auto acos(const lazy<T, A>& a) { return made(a.x.acos()); }
template <class T, class A> auto atan(const lazy<T, A>& a) { return made(a.x.atan()); }
template <class T, class A> auto sinh(const lazy<T, A>& a) { return made(a.x.sinh()); }
template <class T, class A> auto cosh(const lazy<T, A>& a) { return made(a.x.cosh()); }
template <class T, class A> auto tanh(const lazy<T, A>& a) { return made(a.x.tanh()); }
template <class T, class A> auto asinh(const lazy<T, A>& a) { return made(a.x.asinh()); }
template <class T, class A> auto acosh(const lazy<T, A>& a) { return made(a.x.acosh()); }
template <class T, class A> auto atanh(const lazy<T, A>& a) { return made(a.x.atanh()); }
// clang-format on

template <class Op, class... Others>
concept OneOf = (std::same_as<Op, Others> || ...);
/// Ops whose rule cannot be read with arrays, since Eigen lacks the function.
template <class Op>
inline constexpr bool lacks_op = OneOf<Op, hypot_op, fmod_op, remainder_op, trunc_op, exp2_op, atan2_op, erf_op,
                                       erfc_op, gaussian_op, ndtr_op, polygamma_op, digamma_op, lgamma_op>;
/// Whether Eigen runs this op on operands of a floating type with vectors.
template <class Op>
inline constexpr bool has_vectors = !lacks_op<Op> && !OneOf<Op, asinh_op, acosh_op, atanh_op>;

/// An op on one number of each operand: by the standard library where they are floating, by vectors of two of Cpu's
/// where they are integers, whose overflow and division are defined there.
template <class Op>
struct scalar_rule {
  template <class... T>
  auto operator()(T... x) const {
    if constexpr ((std::floating_point<T> || ...)) {
      return Op::value(cpu::plain<T>{x}...).v;
    } else {
      const auto y = Op::value(cpu::lanes<T, 2>(x)...);
      std::array<typename decltype(y)::value_type, 2> both;
      cpu::store(both.data(), y);
      return both[0];
    }
  }
};
/// How two partial results of a reduction are folded, as a rule.
template <class Op>
struct combination {
  static constexpr auto value(auto a, auto b) { return Op::combine(a, b); }
};
/// One number as another type, as Cpu converts it: nothing is undefined. A half type is computed in float.
template <class To>
struct conversion {
  template <class From>
  To operator()(From x) const {
    if constexpr (std::same_as<To, From>) {
      return x;
    } else if constexpr (!std::is_arithmetic_v<To> || !std::is_arithmetic_v<From>) {
      return static_cast<To>(static_cast<float>(x));
    } else {
      std::array<To, 2> both;
      cpu::store(both.data(), cpu::convert<To>(cpu::lanes<From, 2>(x)));
      return both[0];
    }
  }
};
/// A value as another type: by Eigen between floating ones that it knows.
template <class To, class T, class X>
auto as(const lazy<T, X>& from) {
  if constexpr (std::same_as<To, T>)
    return from;
  else if constexpr (std::floating_point<To> && std::floating_point<T>)
    return made(from.x.template cast<To>());
  else
    return made(from.x.unaryExpr(conversion<To>{}));
}

/// An operand whose elements lie side by side, or one value, of which `p` then has as many as a register: `mask` is all
/// ones or zero. One expression serves every mixture of the two without a branch.
template <class T>
struct strip_operand {
  const T* p;
  Index mask;
  auto operator()(Index i) const { return p[i & mask]; }
  template <class Packet>
  Packet packetOp(Index i) const {
    return Eigen::internal::ploadu<Packet>(p + (i & mask));
  }
};

}  // namespace kiln::eigen::inline KILN_VERSION_ISA

template <class T, bool Largest>
struct Eigen::internal::functor_traits<kiln::eigen::extreme_so_far<T, Largest>>
    : functor_traits<kiln::eigen::extreme<T, Largest>> {};
template <class T, char Kind>
struct Eigen::internal::functor_traits<kiln::eigen::truth<T, Kind>> {
  enum { Cost = 1, PacketAccess = packet_traits<T>::HasCmp };
};
template <class T>
struct Eigen::internal::functor_traits<kiln::eigen::strip_operand<T>> {
  enum { Cost = 1, PacketAccess = packet_traits<T>::Vectorizable, IsRepeatable = true };
};
