// SPDX-License-Identifier: BSL-1.0
// Ops that a program brings itself: composite records that are not in the library's list. They are found in the type
// of an expression and joined to the list for its tape; written out, they are primitive ops like any other.
#pragma once

#include <type_traits>

#include <kiln/expr/node.hpp>
#include <kiln/expr/product.hpp>
#include <kiln/ops/all.hpp>

namespace kiln {

/// The tangent of its first operand (expr/tangent.hpp).
struct tangent_op;

namespace detail {

/// Whether the library's list has this op.
template <class Op>
inline constexpr bool listed = op_facts_table.index(code_of<Op>) >= 0;

/// An op that is taken for composite once it has been refused: clang++ goes on after a sentence, and would say some
/// fifty times more that nobody computes the op.
template <class Op>
struct taken_for_composite : Op {
  static constexpr bool composite = true;
};

template <class Op>
constexpr bool check_own() {
  static_assert(bool(Op::composite),
                "kiln: an op of your own must be composite: set `composite = true` and write its value rule with "
                "kiln's functions");
  return true;
}

template <class A, class B>
struct join_lists;
template <class... A>
struct join_lists<op_list<A...>, op_list<>> {
  using type = op_list<A...>;
};
template <class... A, class B, class... Rest>
struct join_lists<op_list<A...>, op_list<B, Rest...>> {
  using with = std::conditional_t<(std::is_same_v<A, B> || ...), op_list<A...>, op_list<A..., B>>;
  using type = typename join_lists<with, op_list<Rest...>>::type;
};

/// The ops of an expression that are not in the library's list.
template <class X>
struct own_ops {
  using type = op_list<>;
};
template <class Op, class Below>
struct with_op {
  using type = Below;
};
template <class Op, class Below>
  requires(!listed<Op>)
struct with_op<Op, Below> {
  static_assert(check_own<Op>());
  using type =
      typename join_lists<Below, op_list<std::conditional_t<Op::composite, Op, taken_for_composite<Op>>>>::type;
};
template <class Op, class A>
struct own_ops<row_node<Op, A>> {
  using type = typename with_op<Op, typename own_ops<A>::type>::type;
};
template <class Op, class A>
struct own_ops<node<Op, A>> {
  using type = typename with_op<Op, typename own_ops<A>::type>::type;
};
template <class Op, class A, class B>
struct own_ops<node<Op, A, B>> {
  using type =
      typename with_op<Op, typename join_lists<typename own_ops<A>::type, typename own_ops<B>::type>::type>::type;
};
template <class A, class B>
struct own_ops<node<tangent_op, A, B>> : own_ops<A> {};
template <class Op, class A, class B, class C>
struct own_ops<node<Op, A, B, C>> {
  using below = typename join_lists<typename own_ops<A>::type, typename own_ops<B>::type>::type;
  using type = typename with_op<Op, typename join_lists<below, typename own_ops<C>::type>::type>::type;
};

template <class List, class Own>
struct with_own;
template <class... Ops, class... Own>
struct with_own<op_list<Ops...>, op_list<Own...>> {
  using type = op_list<Ops..., Own...>;
};
/// All ops that X may hold.
template <class X>
using ops_for = typename with_own<all_ops, typename own_ops<X>::type>::type;

}  // namespace detail

template <class Op>
inline constexpr opcode code_of<detail::taken_for_composite<Op>> = code_of<Op>;

/// The ops that X may hold, with all of their rules, and without.
template <class X>
inline constexpr const rule_table& rules_for = op_table<detail::ops_for<X>>::table;
template <class X>
inline constexpr const rule_table& facts_for = op_table<detail::ops_for<X>>::facts_table;

#ifdef KILN_COMPILED
namespace detail {
const rule_table& compiled_facts();
}
#endif
/// The facts for what reads them at run time: kiln::compiled has those of the list, so that a unit which only prints a
/// formula compiles none.
template <class X>
const rule_table& facts_at_run_time() {
#ifdef KILN_COMPILED
  if constexpr (std::is_same_v<typename detail::own_ops<X>::type, op_list<>>)
    return detail::compiled_facts();
  else
#endif
    return facts_for<X>;
}

}  // namespace kiln
