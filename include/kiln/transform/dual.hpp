// SPDX-License-Identifier: BSL-1.0
// Tensors with tangents. An expression of them is evaluated twice: as it is, of the values; and its tangent, by the
// tangent pass over its tape. Both are ordinary expressions of the device below, so transforms nest and gradients are
// recorded through them.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/expr/tangent.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/transform/level.hpp>

namespace kiln {

template <Element T, class Device>
class Tensor<T, dual<Device>, dynamic_extents>
    : public detail::transformed_tensor<Tensor<T, dual<Device>, dynamic_extents>> {
 public:
  using operand = void;
  using leaf = void;
  using value_type = T;
  using device_type = dual<Device>;
  /// Integers do not change.
  static constexpr bool moves = is_floating(dtype_of<T>);

  Tensor() = default;
  Tensor(Tensor<T, Device> value, Tensor<T, Device> tangent, std::uint64_t transform)
      : value_(std::move(value)), tangent_(std::move(tangent)), transform_(transform) {}
  template <Expression E>
    requires(!Leaf<E>)
  Tensor(const E& e);
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  ~Tensor() = default;
  /// Not possible: what has no name would be written in place.
  template <class E>
  Tensor operator=(const E&) && {
    return this->template in_place<E>();
  }

  decltype(auto) sizes() const { return value_.sizes(); }
  dims strides() const { return value_.strides(); }
  static constexpr kiln::dtype dtype() { return dtype_of<T>; }
  /// Where the elements are, below all transforms.
  auto device() const { return value_.device(); }
  const Tensor<T, Device>& value() const { return value_; }
  const Tensor<T, Device>& tangent() const { return tangent_; }
  std::uint64_t transform() const { return transform_; }
  Tensor clone() const {
    if constexpr (moves)
      return {value_.clone(), tangent_.clone(), transform_};
    else
      return {value_.clone(), {}, transform_};
  }
  Tensor contiguous() const {
    if constexpr (moves)
      return {value_.contiguous(), tangent_.contiguous(), transform_};
    else
      return {value_.contiguous(), {}, transform_};
  }
  /// The value, which no longer changes.
  Tensor detach() const;

 private:
  Tensor<T, Device> value_, tangent_;
  std::uint64_t transform_ = 0;
};

namespace detail {

template <Element T, class Device>
Tensor<T, Device> zeros_of(const Tensor<T, Device>& x) {
  return Tensor<T, Device>(functions_of<Device>.zeros(dtype_of<T>, x.sizes(), *x.state()->memory));
}
template <Element T, class Device>
Tensor<T, batched<Device>> zeros_of(const Tensor<T, batched<Device>, dynamic_extents>& x) {
  return {zeros_of(x.all()), x.transform()};
}
template <Element T, class Device>
Tensor<T, dual<Device>> zeros_of(const Tensor<T, dual<Device>, dynamic_extents>& x) {
  return {zeros_of(x.value()), zeros_of(x.value()), x.transform()};
}

/// Takes expressions of dual tensors apart: into expressions of their values and of their tangents.
template <class Device>
struct dual_walk {
  std::uint64_t transform = 0;

  template <class X>
  static constexpr bool moves = std::same_as<typename X::device_type, dual<Device>>;

  template <class X>
  auto value(const X& x) {
    return x;
  }
  template <class T>
  auto value(const Tensor<T, dual<Device>, dynamic_extents>& x) {
    transform = same_transform(transform, x.transform());
    return operand(x.value());
  }
  template <class X>
  auto value(const inert<X>& x) {
    auto below = value(x.x);
    return inert<decltype(below)>{std::move(below)};
  }
  template <class Op, class... X>
  auto value(const node<Op, X...>& x) {
    return rebuilt(x, [this](const auto& part) { return this->value(part); });
  }
  template <class Op, class A>
  auto value(const row_node<Op, A>& x) {
    auto operand = value(x.a);
    return row_node<Op, decltype(operand)>{{}, std::move(operand), x.axes, x.keepdim, x.numbers};
  }

  template <class X>
  auto tangent(const X& x) {
    auto still = value(x);
    return inert<decltype(still)>{std::move(still)};
  }
  template <class T>
  auto tangent(const scalar<T>& x) {
    return x;
  }
  template <class T>
    requires(is_floating(dtype_of<T>))
  auto tangent(const Tensor<T, dual<Device>, dynamic_extents>& x) { return x.tangent(); }
  template <class Op, class... X>
  auto tangent(const node<Op, X...>& x) {
    return rebuilt(x, [this](const auto& part) { return this->tangent(part); });
  }
  template <class Op, class A>
  auto tangent(const row_node<Op, A>& x) {
    auto operand = tangent(x.a);
    return row_node<Op, decltype(operand)>{{}, std::move(operand), x.axes, x.keepdim, x.numbers};
  }

  /// Products evaluated.
  template <class X>
  auto without_products(const X& x) {
    return x;
  }
  template <class Op, class... X>
  auto without_products(const node<Op, X...>& x) {
    return rebuilt(x, [this](const auto& part) { return this->without_products(part); });
  }
  template <class Op, class A>
  auto without_products(const row_node<Op, A>& x) {
    auto operand = without_products(x.a);
    return row_node<Op, decltype(operand)>{{}, std::move(operand), x.axes, x.keepdim, x.numbers};
  }
  template <class A, class B>
  auto without_products(const product<A, B>& x) {
    using T = typename A::value_type;
    using P = Tensor<T, Device>;
    const auto a = value(x.a);
    const auto b = value(x.b);
    P p(matmul(a, b)), dp;
    if constexpr (is_floating(dtype_of<T>)) {
      if constexpr (moves<A> && moves<B>)
        dp = P(matmul(x.a.tangent(), b) + matmul(a, x.b.tangent()));
      else if constexpr (moves<A>)
        dp = P(matmul(x.a.tangent(), b));
      else if constexpr (moves<B>)
        dp = P(matmul(a, x.b.tangent()));
    }
    if constexpr (moves<A> || moves<B>)
      return Tensor<T, dual<Device>>(std::move(p), std::move(dp), transform);
    else
      return p;
  }

 private:
  template <class Op, class... X, class F>
  static auto rebuilt(const node<Op, X...>& x, const F& f) {
    if constexpr (sizeof...(X) == 1)
      return join<Op>(f(x.a));
    else if constexpr (sizeof...(X) == 2)
      return join<Op>(f(x.a), f(x.b));
    else
      return join<Op>(f(x.a), f(x.b), f(x.c));
  }
  template <class Op, class... X>
  static node<Op, X...> join(X... x) {
    return node<Op, X...>{{}, std::move(x)...};
  }
};

/// Whether the reductions of an expression go over one shape and the same axes, so that one kernel can give its
/// tangent.
template <class E, class V>
bool fits_one_kernel(const E& e) {
  if constexpr (census<E>::rows == 0 || always_fits<V>) {
    return true;
  } else {
    row_request f;
    constexpr bool reduction_rooted = value_program<V>::reduction_rooted;
    f.visit(e, !reduction_rooted);
    return f.legal && (reduction_rooted || is_row_node<E> || shape_of(e) == f.domain);
  }
}

}  // namespace detail

template <Element T, class Device>
template <Expression E>
  requires(!Leaf<E>)
Tensor<T, dual<Device>, dynamic_extents>::Tensor(const E& e) {
  static_assert(
      std::same_as<typename E::value_type, T>,
      "kiln: the expression has another element type than the tensor it goes to: write cast<T>(...) around it");
  detail::dual_walk<Device> walk;
  if constexpr (census<E>::products > 0) {
    *this = walk.without_products(e);
  } else if constexpr (detail::never_fits<E>) {
    *this = Tensor(detail::row_split::unnested(e));
  } else {
    const auto value = walk.value(e);
    using V = std::remove_const_t<decltype(value)>;
    if constexpr (census<E>::rows > 0 && !detail::always_fits<V>)
      if (!detail::fits_one_kernel<E, V>(e)) {
        *this = Tensor(detail::row_split::apart(e));
        return;
      }
    value_ = Tensor<T, Device>(value);
    transform_ = walk.transform;
    if constexpr (moves) {
      auto tangent = walk.tangent(e);
      using D = decltype(tangent);
      if constexpr (detail::has_tangent<V, D>)
        tangent_ = Tensor<T, Device>(node<tangent_op, V, D>{{}, value, std::move(tangent)});
      else
        tangent_ = detail::zeros_of(value_);
    }
  }
}
template <Element T, class Device>
auto Tensor<T, dual<Device>, dynamic_extents>::detach() const -> Tensor {
  if constexpr (moves)
    return {value_.detach(), detail::zeros_of(value_), transform_};
  else
    return {value_.detach(), {}, transform_};
}

namespace detail {

template <class Device>
struct lift<dual<Device>> {
  template <class Whole, Element T>
  static Tensor<T, dual<Device>> apply(const Tensor<T, Device>& x) {
    const std::uint64_t id = transform_of<Whole, dual<Device>>().id;
    if constexpr (is_floating(dtype_of<T>))
      return {x, zeros_of(x), id};
    else
      return {x, {}, id};
  }
};

template <Element T, class Device>
struct transformed_views<Tensor<T, dual<Device>, dynamic_extents>> {
  using X = Tensor<T, dual<Device>, dynamic_extents>;
  template <class Change>
  static X through(const X& x, const Change& change) {
    if constexpr (X::moves)
      return {view_through(x.value(), change), view_through(x.tangent(), change), x.transform()};
    else
      return {view_through(x.value(), change), {}, x.transform()};
  }
  static X reshaped(const X& x, const dims& sizes) {
    if constexpr (X::moves)
      return {reshape(x.value(), sizes), reshape(x.tangent(), sizes), x.transform()};
    else
      return {reshape(x.value(), sizes), {}, x.transform()};
  }
};

template <class A, class B>
struct tangent_split {
  using Device = typename A::device_type;
  static auto apart(const node<tangent_op, A, B>& x) { return joint(parts(x.a, x.b)); }

 private:
  template <class X, class Y>
  struct pair {
    X value;
    Y tangent;
  };
  template <class X, class Y>
  static auto joint(const pair<X, Y>& p) {
    if constexpr (Leaf<X>)
      return p.tangent;
    else
      return node<tangent_op, X, Y>{{}, p.value, p.tangent};
  }
  template <class X, class Y>
  static pair<X, Y> parts(const X& x, const Y& y) {
    return {x, y};
  }
  template <class Op, class X, class Y>
  static auto parts(const node<Op, X>& x, const node<Op, Y>& y) {
    return joined<Op>(parts(x.a, y.a));
  }
  template <class Op, class X1, class X2, class Y1, class Y2>
  static auto parts(const node<Op, X1, X2>& x, const node<Op, Y1, Y2>& y) {
    return joined<Op>(parts(x.a, y.a), parts(x.b, y.b));
  }
  template <class Op, class X1, class X2, class X3, class Y1, class Y2, class Y3>
  static auto parts(const node<Op, X1, X2, X3>& x, const node<Op, Y1, Y2, Y3>& y) {
    return joined<Op>(parts(x.a, y.a), parts(x.b, y.b), parts(x.c, y.c));
  }
  // A tangent within: of which row each part is cannot be told once they are apart.
  template <class X1, class X2, class Y1, class Y2>
  static auto parts(const node<tangent_op, X1, X2>& x, const node<tangent_op, Y1, Y2>& y) {
    throw shape_error(
        "jvp within jvp: this expression has reductions over different axes: make a tensor of the inner ones first, "
        "with "
        "auto part = eval(...)");
    return pair<node<tangent_op, X1, X2>, node<tangent_op, Y1, Y2>>{x, y};
  }
  template <class Op, class X, class Y>
  static auto parts(const row_node<Op, X>& x, const row_node<Op, Y>& y) {
    const auto below = parts(x.a, y.a);
    using U = std::remove_const_t<decltype(below.value)>;
    using V = std::remove_const_t<decltype(below.tangent)>;
    using RU = row_node<Op, U>;
    using RV = row_node<Op, V>;
    using R = Tensor<typename RU::value_type, Device>;
    const RU value{{}, below.value, x.axes, x.keepdim, x.numbers};
    const RV tangent{{}, below.tangent, x.axes, x.keepdim, x.numbers};
    const R whole(value);
    if constexpr (is_floating(dtype_of<typename RU::value_type>) && has_tangent<RU, RV>)
      return pair<R, R>{whole, R(node<tangent_op, RU, RV>{{}, value, tangent})};
    else
      return pair<R, inert<R>>{whole, inert<R>{whole}};
  }
  template <class Op, class... X, class... Y>
  static auto joined(const pair<X, Y>&... p) {
    return pair<node<Op, X...>, node<Op, Y...>>{node<Op, X...>{{}, p.value...}, node<Op, Y...>{{}, p.tangent...}};
  }
};

}  // namespace detail

}  // namespace kiln
