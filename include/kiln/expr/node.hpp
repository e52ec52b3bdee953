// SPDX-License-Identifier: BSL-1.0
// Lazy expressions: trees of nodes over leaves. A node holds its operands by value, as named members (children in a
// std::tuple cost ten times the compile time); leaves are cheap handles, so an expression can be kept and returned.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/ops/cast.hpp>
#include <kiln/ops/op.hpp>

namespace kiln {

/// A lazy value: what it will hold, and where.
template <class X>
concept Expression = Operand<X> && requires {
  typename std::remove_cvref_t<X>::value_type;
  typename std::remove_cvref_t<X>::device_type;
};

/// An expression that is memory already: a tensor.
template <class X>
concept Leaf = Expression<X> && requires {
  typename std::remove_cvref_t<X>::leaf;
};

/// No device: the device of a number, which goes with any.
struct any_device {};

/// A number beside tensors; its value is a parameter of the kernel, not part of it.
template <Element T>
struct scalar {
  using operand = void;
  using value_type = T;
  using device_type = any_device;
  compute_t<T> value;
};

namespace detail {
template <class A, class B>
struct common_device {
  static_assert(std::same_as<A, B> || std::same_as<A, any_device> || std::same_as<B, any_device>,
                "kiln: the operands live on different devices: move one of them with .to<Device>()");
  using type = std::conditional_t<std::same_as<A, any_device>, B, A>;
};
}  // namespace detail

/// The result of Op on one to three operands, not computed yet.
template <class Op, class... X>
struct node;

template <class Op, class A>
struct node<Op, A> {
  using operand = void;
  using value_type = element_t<Op::result(dtype_of<typename A::value_type>)>;
  using device_type = typename A::device_type;
  A a;
};
template <class Op, class A, class B>
struct node<Op, A, B> {
  using operand = void;
  using value_type = element_t<Op::result(dtype_of<typename B::value_type>)>;
  using device_type = typename detail::common_device<typename A::device_type, typename B::device_type>::type;
  A a;
  B b;
};
template <class Op, class A, class B, class C>
struct node<Op, A, B, C> {
  using operand = void;
  using value_type = element_t<Op::result(dtype_of<typename C::value_type>)>;
  using device_type = typename detail::common_device<
      typename A::device_type,
      typename detail::common_device<typename B::device_type, typename C::device_type>::type>::type;
  A a;
  B b;
  C c;
};

/// A reduction or a row function over axes of its operand. `axes` has bit i set for axis i.
template <class Op, class A>
struct row_node {
  using operand = void;
  using value_type = element_t<Op::result(dtype_of<typename A::value_type>)>;
  using device_type = typename A::device_type;
  A a;
  std::uint32_t axes = 0;
  bool keepdim = false;
  std::array<double, 2> numbers{};  ///< the op's further operands, Op::arity - 1 of them
};

/// cast_op with its target in the type.
template <Element To>
struct cast_to : cast_op {
  static constexpr dtype result(dtype) { return dtype_of<To>; }
};

namespace detail {

template <Element To, Expression X>
constexpr auto converted(X x) {
  if constexpr (std::same_as<typename X::value_type, To>)
    return x;
  else
    return node<cast_to<To>, X>{std::move(x)};
}
template <Element To, Number S>
constexpr auto converted(S x) {
  return scalar<To>{static_cast<compute_t<To>>(x)};
}

template <class X>
struct operand_type {  // of a number: none
  using type = void;
};
template <Expression X>
struct operand_type<X> {
  using type = typename X::value_type;
};

// Tensors promote among each other first; then each number may raise the category.
template <class T, class... X>
struct joint;
template <class T>
struct joint<T> {
  using type = T;
};
template <class T, Expression X, class... Rest>
struct joint<T, X, Rest...> {
  using value = typename X::value_type;
  template <class U>
  struct with : std::type_identity<promote_t<U, value>> {};
  template <class U>
    requires std::is_void_v<U>
  struct with<U> : std::type_identity<value> {
  };
  using type = typename joint<typename with<T>::type, Rest...>::type;
};
template <class T, Number X, class... Rest>
struct joint<T, X, Rest...> {
  using type = typename joint<T, Rest...>::type;
};
template <class T, class... X>
struct with_numbers;
template <class T>
struct with_numbers<T> {
  using type = T;
};
template <class T, class X, class... Rest>
struct with_numbers<T, X, Rest...> {
  using type = typename with_numbers<T, Rest...>::type;
};
template <class T, Number X, class... Rest>
struct with_numbers<T, X, Rest...> {
  using type = typename with_numbers<with_number_t<T, std::remove_cvref_t<X>>, Rest...>::type;
};

}  // namespace detail

/// The element type of an op on these operands before the op's own rule: PyTorch's promotion.
template <class... X>
using operands_t = typename detail::with_numbers<typename detail::joint<void, X...>::type, X...>::type;

/// Builds the node of Op over expressions and numbers; operands are converted to their common type.
template <class Op, class... X>
  requires((Expression<X> || Number<X>)&&...)
&&(Expression<X> || ...) constexpr auto apply_op(op_tag<Op>, X... x) {
  using P = operands_t<X...>;
  static_assert(Op::accepts(dtype_of<P>),
                "kiln: this operation is not defined for the element type of its operands: cast<T>() them first");
  using C = element_t<Op::common(dtype_of<P>)>;
  return node<Op, decltype(detail::converted<C>(std::move(x)))...>{detail::converted<C>(std::move(x))...};
}

/// x as T: floats round to nearest, a float becomes an integer by dropping its fraction, anything not 0 becomes true.
template <Element To, Expression X>
constexpr auto cast(X x) {
  return detail::converted<To>(std::move(x));
}

namespace detail {
template <Expression C>
constexpr auto as_condition(C c) {
  return converted<bool>(std::move(c));
}
template <Number C>
constexpr auto as_condition(C c) {
  return scalar<bool>{static_cast<bool>(c)};
}
}  // namespace detail

struct where_op;

/// `where`: the condition does not take part in promotion.
template <class C, class A, class B>
  requires(Expression<C> || Expression<A> || Expression<B>)
&&(Expression<C> || Number<C>)&&(Expression<A> || Number<A>)&&(Expression<B> ||
                                                               Number<B>)constexpr auto apply_op(op_tag<where_op>, C c,
                                                                                                 A a, B b) {
  using T = typename detail::with_numbers<
      std::conditional_t<Expression<A> || Expression<B>, typename detail::joint<void, A, B>::type,
                         std::conditional_t<std::is_floating_point_v<A> || std::is_floating_point_v<B>, float,
                                            std::conditional_t<std::is_same_v<A, bool> && std::is_same_v<B, bool>, bool,
                                                               std::int64_t>>>,
      A, B>::type;
  auto condition = detail::as_condition(std::move(c));
  auto left = detail::converted<T>(std::move(a));
  auto right = detail::converted<T>(std::move(b));
  return node<where_op, decltype(condition), decltype(left), decltype(right)>{std::move(condition), std::move(left),
                                                                              std::move(right)};
}

}  // namespace kiln
