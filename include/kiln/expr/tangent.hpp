// SPDX-License-Identifier: BSL-1.0
// The tangent of an expression as an expression: the expression, and once more with the tangents of its leaves in their
// places. Its tape is the tangent pass's; all else (shapes, axes, kernels, gradients) it has as any expression.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include <kiln/expr/flatten.hpp>
#include <kiln/tape/tangent.hpp>

namespace kiln {

/// node<tangent_op, A, B>: the tangent of A, where B is A with the tangents of its leaves, or `inert`, in their places.
struct tangent_op : elementwise<2> {
  static constexpr std::string_view name = "tangent";
  static constexpr dtype result(dtype d) { return d; }
};

namespace detail {

/// In the place of a leaf's tangent: there is none. It has the leaf's shape.
template <class X>
struct inert {
  using operand = void;
  using leaf = void;
  using value_type = typename X::value_type;
  using device_type = typename X::device_type;
  X x;
  const dims& sizes() const { return x.sizes(); }
  const auto& state() const { return x.state(); }
  decltype(auto) wanted() const { return x.wanted(); }
};

/// The leaves of A whose places in B hold tangents.
struct moving_walk {
  leaf_mask moving = 0;
  int leaves = 0;

  template <class X, class Y>
  constexpr void see(std::type_identity<X>, std::type_identity<Y>) {
    if (leaves < 64) moving |= leaf_mask{1} << leaves;
    ++leaves;
  }
  template <class X, class Y>
  constexpr void see(std::type_identity<X>, std::type_identity<inert<Y>>) {
    ++leaves;
  }
  template <class T, class Y>
  constexpr void see(std::type_identity<scalar<T>>, std::type_identity<Y>) {}
  template <class Op, class... X, class... Y>
  constexpr void see(std::type_identity<node<Op, X...>>, std::type_identity<node<Op, Y...>>) {
    (see(std::type_identity<X>{}, std::type_identity<Y>{}), ...);
  }
  template <class Op, class X, class Y>
  constexpr void see(std::type_identity<row_node<Op, X>>, std::type_identity<row_node<Op, Y>>) {
    see(std::type_identity<X>{}, std::type_identity<Y>{});
  }
};
template <class A, class B>
inline constexpr leaf_mask moving_leaves = [] {
  moving_walk walk;
  walk.see(std::type_identity<A>{}, std::type_identity<B>{});
  return walk.moving;
}();

/// No leaf or number is taken for another.
template <int Leaves, int Numbers>
struct no_sharing {
  std::array<std::int16_t, static_cast<std::size_t>(Leaves) + 1> leaf{};
  std::array<std::int16_t, static_cast<std::size_t>(Numbers) + 1> number{};
  constexpr no_sharing() {
    for (int i = 0; i < Leaves; ++i) leaf[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(i);
    for (int i = 0; i < Numbers; ++i) number[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(i);
  }
};

template <class A, class B>
struct tangent_writer {
  static constexpr int leaves = census<A>::leaves, numbers = census<A>::scalars;
  static_assert(census<B>::leaves == leaves);

  /// Value and tangent of A in a program of their own: the tangent of leaf s is leaf `leaves + s`.
  static constexpr void write_pair(program& pair) {
    program inner;
    constexpr no_sharing<leaves, numbers> none;
    flattener<no_sharing<leaves, numbers>> walk{inner, none};
    inner.add_result(walk.visit(std::type_identity<A>{}));
    tangent(inner, pair, rules_for<A>, leaves, moving_leaves<A, B>);
  }
  template <class Sharing>
  static constexpr int write(flattener<Sharing>& into) {
    program pair;
    write_pair(pair);
    scratch<std::int16_t> places(pair.size());
    for (int i = 0; i < pair.size(); ++i) {
      instruction now = pair[i];
      if (now.a >= 0) now.a = places.data()[now.a];
      if (now.b >= 0) now.b = places.data()[now.b];
      if (now.c >= 0) now.c = places.data()[now.c];
      if (now.code == opcode::leaf) now.slot = static_cast<std::int16_t>(now.slot + into.leaves);
      if (now.code == opcode::scalar) now.slot = static_cast<std::int16_t>(now.slot + into.scalars);
      places.data()[i] = static_cast<std::int16_t>(into.out.push(now));
    }
    into.leaves += 2 * leaves;
    into.scalars += numbers + census<B>::scalars;
    if (pair.results[1] >= 0) return places.data()[pair.results[1]];
    const dtype type = pair[pair.results[0]].type;
    return into.out.push({.code = opcode::constant, .type = type, .literal = literal_for(type, 0)});
  }
};

/// Whether A changes at all where the leaves in B do.
template <class A, class B>
inline constexpr bool has_tangent = [] {
  program pair;
  tangent_writer<A, B>::write_pair(pair);
  return pair.results[1] >= 0;
}();

}  // namespace detail

}  // namespace kiln
