// SPDX-License-Identifier: BSL-1.0
// Lazy expressions: trees of nodes over leaves. A node holds its operands by value, as named members (children in a
// std::tuple cost ten times the compile time); leaves are cheap handles, so an expression can be kept and returned.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/expr/methods.hpp>
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

/// The result of Op on one to three operands, not computed yet. An aggregate, made as `node<Op, A>{{}, a}` (the braces
/// are its base): operands are made where they stay, and not moved once for each node around them.
template <class Op, class... X>
struct node;

template <class Op, class A>
struct node<Op, A> : expression_methods<node<Op, A>> {
  using operand = void;
  using value_type = element_t<Op::result(dtype_of<typename A::value_type>)>;
  using device_type = typename A::device_type;
  A a;
  using expression_methods<node>::operator=;
};
template <class Op, class A, class B>
struct node<Op, A, B> : expression_methods<node<Op, A, B>> {
  using operand = void;
  using value_type = element_t<Op::result(dtype_of<typename B::value_type>)>;
  using device_type = typename detail::common_device<typename A::device_type, typename B::device_type>::type;
  A a;
  B b;
  using expression_methods<node>::operator=;
};
template <class Op, class A, class B, class C>
struct node<Op, A, B, C> : expression_methods<node<Op, A, B, C>> {
  using operand = void;
  using value_type = element_t<Op::result(dtype_of<typename C::value_type>)>;
  using device_type = typename detail::common_device<
      typename A::device_type,
      typename detail::common_device<typename B::device_type, typename C::device_type>::type>::type;
  A a;
  B b;
  C c;
  using expression_methods<node>::operator=;
};

/// A reduction or a row function over axes of its operand. `axes` has bit i set for axis i.
template <class Op, class A>
struct row_node : expression_methods<row_node<Op, A>> {
  using operand = void;
  using value_type = element_t<Op::result(dtype_of<typename A::value_type>)>;
  using device_type = typename A::device_type;
  A a;
  std::uint32_t axes = 0;
  bool keepdim = false;
  std::array<double, 2> numbers{};  ///< the op's further operands, Op::arity - 1 of them
  using expression_methods<row_node>::operator=;
};

/// cast_op with its target in the type.
template <Element To>
struct cast_to : cast_op {
  static constexpr dtype result(dtype) { return dtype_of<To>; }
};

template <Element To>
inline constexpr opcode code_of<cast_to<To>> = code_of<cast_op>;

namespace detail {

/// A tensor that becomes an operand notes when that was, so that its expression can tell whether it was changed since.
template <class X>
constexpr void note_moment(X& x) {
  if constexpr (requires { x.note_moment(); }) x.note_moment();
}

// By reference: each handle that is moved from on the way is looked at again when it ends.
template <Element To, class X>
  requires Expression<X>
constexpr auto converted(X&& x) {
  using E = std::remove_cvref_t<X>;
  if constexpr (std::is_lvalue_reference_v<X>) {
    return converted<To>(E(x));
  } else {
    if constexpr (requires { x.note_moment(); }) x.note_moment();
    if constexpr (std::same_as<typename E::value_type, To>)
      return E(static_cast<E&&>(x));
    else
      return node<cast_to<To>, E>{{}, static_cast<E&&>(x)};
  }
}
template <Element To, Number S>
constexpr auto converted(S x) {
  return scalar<To>{static_cast<compute_t<To>>(x)};
}

/// A number as T. Throws value_error if an integer type cannot hold it.
template <Element T, Number V>
T number_as(V value, const char* where) {
  if constexpr (std::same_as<T, bool>) {
    return static_cast<compute_t<V>>(value) != compute_t<V>(0);
  } else if constexpr (is_floating(dtype_of<T>)) {
    return static_cast<T>(static_cast<compute_t<T>>(value));
  } else {
    bool fits;
    if constexpr (std::is_integral_v<V>) {
      // As C++20's in_range, which does not take bool.
      const T back = static_cast<T>(value);
      fits = static_cast<V>(back) == value && (back < T(0)) == (value < V(0));
    } else {
      // 2^digits is exact in double where the largest value of T may not be.
      const double v = static_cast<double>(value), edge = std::ldexp(1.0, std::numeric_limits<T>::digits);
      fits = v < edge && (std::is_signed_v<T> ? v >= -edge : v > -1.0);
    }
    if (!fits)
      throw value_error(message(where, ": ", static_cast<double>(value), " is no value of ", name(dtype_of<T>),
                                ": use a wider element type or a smaller number"));
    return static_cast<T>(value);
  }
}

/// What is written into elements of To: a number that it holds (number_as), or an expression, converted.
template <Element To, class V>
constexpr auto written_as(V&& value, [[maybe_unused]] const char* where) {
  if constexpr (Number<std::remove_cvref_t<V>>)
    return converted<To>(number_as<To>(value, where));
  else
    return converted<To>(std::forward<V>(value));
}

/// An operand of Op in this place, as To; a number by the op's rule for numbers that To cannot hold.
template <class Op, Element To, Expression X>
constexpr auto operand_of(X&& x, int) {
  return converted<To>(std::forward<X>(x));
}
template <class Op, Element To, Number S>
constexpr auto operand_of(S x, [[maybe_unused]] int place) {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<S> && !std::same_as<To, bool> && !std::same_as<S, bool>) {
    const number_rule rule = Op::numbers(place);
    const To back = static_cast<To>(x);
    const bool negative = x < S(0), fits = static_cast<S>(back) == x && (back < To(0)) == negative;
    if (!fits && rule != number_rule::wraps) {
      if (rule == (negative ? number_rule::lower : number_rule::upper))
        return scalar<To>{negative ? std::numeric_limits<To>::min() : std::numeric_limits<To>::max()};
      throw value_error(message(Op::name, ": ", x, " is no value of ", name(dtype_of<To>),
                                ": cast<int64_t>() the tensor, or use a number that its type holds"));
    }
  }
  // A half is compared with what the number is as a half.
  if constexpr (is_floating(dtype_of<To>) && !std::same_as<To, compute_t<To>>)
    if constexpr (Op::compares) return scalar<To>{static_cast<compute_t<To>>(static_cast<To>(x))};
  return converted<To>(x);
}

/// A node that is moved from, of elements of C: an operand as it is.
template <class X, class C>
inline constexpr bool is_node_of = false;
template <class Op, class... X, class C>
inline constexpr bool is_node_of<node<Op, X...>, C> = std::same_as<typename node<Op, X...>::value_type, C>;

template <class Op, Element C, class A>
constexpr auto node_of(A&& a) {
  return node<Op, decltype(operand_of<Op, C>(static_cast<A&&>(a), 0))>{{}, operand_of<Op, C>(static_cast<A&&>(a), 0)};
}
template <class Op, Element C, class A, class B>
constexpr auto node_of(A&& a, B&& b) {
  return node<Op, decltype(operand_of<Op, C>(static_cast<A&&>(a), 0)),
              decltype(operand_of<Op, C>(static_cast<B&&>(b), 1))>{
      {}, operand_of<Op, C>(static_cast<A&&>(a), 0), operand_of<Op, C>(static_cast<B&&>(b), 1)};
}
template <class Op, Element T, class A, class B, class C>
constexpr auto node_of(A&& a, B&& b, C&& c) {
  return node<Op, decltype(operand_of<Op, T>(static_cast<A&&>(a), 0)),
              decltype(operand_of<Op, T>(static_cast<B&&>(b), 1)), decltype(operand_of<Op, T>(static_cast<C&&>(c), 2))>{
      {},
      operand_of<Op, T>(static_cast<A&&>(a), 0),
      operand_of<Op, T>(static_cast<B&&>(b), 1),
      operand_of<Op, T>(static_cast<C&&>(c), 2)};
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
&&(Expression<X> || ...) constexpr auto apply_op(op_tag<Op>, X&&... x) {
  using P = operands_t<std::remove_cvref_t<X>...>;
  static_assert(Op::accepts(dtype_of<P>),
                "kiln: this operation is not defined for the element type of its operands: cast<T>() them first");
  using C = element_t<Op::common(dtype_of<P>)>;
  if constexpr ((detail::is_node_of<X, C> && ...))
    return node<Op, X...>{{}, static_cast<X&&>(x)...};
  else if constexpr ((Number<X> || ...))
    return detail::node_of<Op, C>(static_cast<X&&>(x)...);
  else
    return node<Op, decltype(detail::converted<C>(static_cast<X&&>(x)))...>{
        {}, detail::converted<C>(static_cast<X&&>(x))...};
}

namespace detail {
template <class X, class... Rest>
constexpr auto first_expression(X x, Rest... rest) {
  if constexpr (Expression<X>)
    return x;
  else
    return first_expression(std::move(rest)...);
}
}  // namespace detail

/// Not possible: says what to write for an operand that is no tensor.
template <class Op, class... X>
  requires(detail::NoOperand<X> || ...)
constexpr auto apply_op(op_tag<Op>, X... x) {
  static_assert(detail::never<X...>,
                "kiln: a vector, an array or a pointer is no operand: write tensor(values) for a tensor of its "
                "elements, or from_blob(data, {n}) for one that looks at them");
  return detail::first_expression(std::move(x)...);
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
  auto left = detail::operand_of<where_op, T>(std::move(a), 1);
  auto right = detail::operand_of<where_op, T>(std::move(b), 2);
  return node<where_op, decltype(condition), decltype(left), decltype(right)>{
      {}, std::move(condition), std::move(left), std::move(right)};
}

}  // namespace kiln
