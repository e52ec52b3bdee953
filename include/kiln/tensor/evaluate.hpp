// SPDX-License-Identifier: BSL-1.0
// From the type of an expression to what run.hpp runs: its program, its leaves and numbers in order, and whether it is
// one kernel. It is, unless reductions go over different axes or shapes: then inner ones are evaluated first. (Products
// are leaves here: whoever runs the kernel computes them before.)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/core/extents.hpp>
#include <kiln/expr/flatten.hpp>
#include <kiln/expr/shape.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/product_epilogue.hpp>
#include <kiln/tensor/run.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln {

template <Element T, class Device, class Extents>
class Tensor;

namespace detail {

constexpr bool is_reduction_rooted(const tape_view& t, int root, const rule_table& ops) {
  bool any = false;
  level* levels = new level[static_cast<std::size_t>(t.size) + 1];
  for (int i = 0; i < t.size; ++i) {
    levels[i] = level_of(t[i], levels, ops);
    const found_rules op = ops.find(t[i].code);
    any |= op && op->reduces;
  }
  const bool row = any && levels[root] == level::row;
  delete[] levels;
  return row;
}

template <class E>
struct value_program {
  static constexpr const auto& tape = value_tape<E>;
  static constexpr bool reduction_rooted =
      is_reduction_rooted(view(value_tape<E>), value_tape<E>.result(0), op_facts_table);
  static constexpr std::array<dtype, 1> stores{dtype_of<typename E::value_type>};
  /// No result is a sum over axes that it lacks. (A copy may be one: it adds gradients too.)
  static constexpr bool never_sums = !Leaf<E>;
};

constexpr bool leading(std::uint32_t axes) {
  return (axes & (axes + 1)) == 0;
}

/// What row nodes of an expression ask for at run time, and whether one kernel can give it.
struct row_request {
  bool found = false, legal = true, keepdim = false, top_found = false;
  dims domain;
  std::uint32_t axes = 0;

  template <class X>
  void visit(const X&, bool) {}
  template <class Op, class A>
  void visit(const row_node<Op, A>& x, bool combined) {
    const dims here = shape_of(x.a);
    if (!found) {
      found = true;
      domain = here;
      axes = x.axes;
    }
    legal &= here == domain && x.axes == axes;
    if constexpr (Op::reduces) {
      // A result that meets full rows again must line up with them.
      if (combined)
        legal &= x.keepdim || leading(x.axes);
      else if (!top_found)
        keepdim = x.keepdim, top_found = true;
      else
        legal &= keepdim == x.keepdim;
    }
    visit(x.a, true);
  }
  template <class Op, class... X>
  void visit(const node<Op, X...>& x, bool combined) {
    visit(x.a, combined);
    if constexpr (sizeof...(X) > 1) visit(x.b, combined);
    if constexpr (sizeof...(X) > 2) visit(x.c, combined);
  }
};

template <class E>
inline constexpr bool is_row_node = false;
template <class Op, class A>
inline constexpr bool is_row_node<row_node<Op, A>> = true;

// One reduction with nothing but numbers around it always fits one kernel.
template <class E>
inline constexpr bool always_fits = census<E>::rows == 1 && (value_program<E>::reduction_rooted || is_row_node<E>);

// What an expression computes how often, known from its type.
template <class X>
inline constexpr level level_of_type = level::element;
template <class T>
inline constexpr level level_of_type<scalar<T>> = level::number;
template <class Op, class... X>
inline constexpr level level_of_type<node<Op, X...>> = std::max({level_of_type<X>...});
template <class Op, class A>
inline constexpr level level_of_type<row_node<Op, A>> = Op::reduces ? level::row : level_of_type<A>;

// A reduction of what is one value per row (the mean over a batch of each row's loss) runs over other axes than the
// rows: never one kernel.
template <class X>
inline constexpr bool never_fits = false;
template <class Op, class... X>
inline constexpr bool never_fits<node<Op, X...>> = (never_fits<X> || ...);
template <class Op, class A>
inline constexpr bool never_fits<row_node<Op, A>> = level_of_type<A> == level::row || never_fits<A>;

template <bool Tracked, bool Rare, class E>
ref<tensor_state> compute(const E& e);

/// Defined by transforms: takes the row nodes of a tangent's expression apart, with their tangents.
template <class A, class B>
struct tangent_split;

/// An expression that one kernel cannot run, cut into some that it can. `apart` evaluates every row node by itself, so
/// the number of kernels to compile stays linear; `unnested` only what is one value per row below a reduction.
struct row_split {
  template <class X>
  static auto apart(const X& x) {
    return x;
  }
  template <class Op, class... X>
    requires((census<X>::rows + ...) > 0)
  static auto apart(const node<Op, X...>& x) {
    if constexpr (sizeof...(X) == 1)
      return join<Op>(part(x.a));
    else if constexpr (sizeof...(X) == 2)
      return join<Op>(part(x.a), part(x.b));
    else
      return join<Op>(part(x.a), part(x.b), part(x.c));
  }
  template <class A, class B>
    requires(census<A>::rows > 0)
  static auto apart(const node<tangent_op, A, B>& x) { return tangent_split<A, B>::apart(x); }
  template <class Op, class A>
  static auto apart(const row_node<Op, A>& x) {
    return over<Op>(part(x.a), x);
  }

  template <class X>
  static auto unnested(const X& x) {
    return x;
  }
  template <class Op, class... X>
    requires(never_fits<X> || ...)
  static auto unnested(const node<Op, X...>& x) {
    if constexpr (sizeof...(X) == 1)
      return join<Op>(unnested(x.a));
    else if constexpr (sizeof...(X) == 2)
      return join<Op>(unnested(x.a), unnested(x.b));
    else
      return join<Op>(unnested(x.a), unnested(x.b), unnested(x.c));
  }
  template <class Op, class A>
    requires never_fits<row_node<Op, A>>
  static auto unnested(const row_node<Op, A>& x) {
    if constexpr (level_of_type<A> == level::row)
      return over<Op>(evaluated(x.a), x);
    else
      return over<Op>(unnested(x.a), x);
  }

 private:
  template <class X>
  static auto evaluated(const X& x) {
    return Tensor<typename X::value_type, typename X::device_type, dynamic_extents>(x);
  }
  // Whether one kernel can do it turns out when it is evaluated, and mostly it can: what stands apart is rare.
  template <class X>
  static auto part(const X& x) {
    return apart(x);
  }
  template <class Op, class A>
  static auto part(const row_node<Op, A>& x) {
    const auto all = apart(x);
    using E = decltype(apart(x));
    using T = Tensor<typename E::value_type, typename E::device_type, dynamic_extents>;
    if constexpr (requires { typename E::device_type::below; })
      return T(all);  // within a transform
    else
      return T(compute<true, true>(all));
  }
  template <class Op, class... X>
  static node<Op, X...> join(X... x) {
    return {{}, std::move(x)...};
  }
  template <class Op, class A, class B>
  static row_node<Op, A> over(A a, const row_node<Op, B>& like) {
    return {{}, std::move(a), like.axes, like.keepdim, like.numbers};
  }
};

/// Operands of the products of an expression, by leaf slot; null for other leaves.
template <int Leaves, bool Any>
struct product_operands {
  std::array<tensor_state*, static_cast<std::size_t>(Leaves)> product_left{}, product_right{};
  std::array<operands::multiplier, static_cast<std::size_t>(Leaves)> multiply;
};
template <int Leaves>
struct product_operands<Leaves, false> {};

/// The leaves of an expression, in the order of their slots, and its numbers.
template <class E>
struct collected : product_operands<census<E>::leaves, (census<E>::products > 0)> {
  std::array<tensor_state*, static_cast<std::size_t>(census<E>::leaves) + 1> leaf;
  std::array<std::uint64_t, static_cast<std::size_t>(census<E>::scalars) + 1> number;

  collected() = default;
  explicit collected(const E& e) {
    places at;
    add(e, at);
  }

  /// The same without the type of the expression.
  operands view() {
    operands all{.leaf = leaf.data(), .number = number.data()};
    if constexpr (census<E>::products > 0) {
      all.product_left = this->product_left.data();
      all.product_right = this->product_right.data();
      all.multiply = this->multiply.data();
    }
    return all;
  }

 private:
  // How many were added so far. A local of the constructor: members would be written and read back for each.
  struct places {
    std::size_t leaf = 0, number = 0;
    int tensor = 0;
  };
  void add_number(std::uint64_t bits, places& at) { number[at.number++] = bits; }

  // The expression stands for the values that its tensors had when it was written.
  template <class X>
  const ref<tensor_state>& unchanged(const X& x, places& at) {
    const ref<tensor_state>& state = x.state();
    ++at.tensor;
    if (!x.wanted().is_now(*state->memory)) check_unchanged(*state, x.wanted(), at.tensor);
    return state;
  }

  template <Leaf X>
  void add(const X& x, places& at) {
    leaf[at.leaf++] = unchanged(x, at).get();
    if constexpr (numbers_of_leaf<X> != 0) {
      add_number(x.stream().seed, at);
      add_number(x.stream().first, at);
    }
  }
  template <class T>
  void add(const scalar<T>& x, places& at) {
    add_number(common::to_bits(x.value), at);
  }
  template <class A, class B>
  void add(const product<A, B>& x, places& at) {
    const std::size_t i = at.leaf++;
    leaf[i] = nullptr;  // not computed yet
    this->product_left[i] = unchanged(x.a, at).get();
    this->product_right[i] = unchanged(x.b, at).get();
    this->multiply[i] = &multiply_tensors<typename product<A, B>::value_type, typename product<A, B>::device_type>;
  }
  template <class Op, class A>
  void add(const row_node<Op, A>& x, places& at) {
    add(x.a, at);
    for (int i = 0; i + 1 < Op::arity; ++i) add_number(common::to_bits(x.numbers[static_cast<std::size_t>(i)]), at);
  }
  template <class Op, class... X>
  void add(const node<Op, X...>& x, places& at) {
    add(x.a, at);
    if constexpr (sizeof...(X) > 1) add(x.b, at);
    if constexpr (sizeof...(X) > 2) add(x.c, at);
  }
};

/// Whether the tape's assumption holds: leaves and numbers that it takes for one are one.
template <class E>
bool shares_as_assumed(collected<E>& c) {
  constexpr auto& shared = shared_leaves<E>;
  return shares_as_assumed(c.view(), shared.leaf.data(), census<E>::leaves, shared.number.data(), census<E>::scalars);
}

template <class E>
constexpr decltype(auto) result_sizes(const E&, const evaluation& how) {
  if constexpr (census<E>::rows == 0)
    return (how.domain);
  else
    return how.reduction_rooted ? reduced_sizes(how.domain, how.axes, how.keepdim) : how.domain;
}

/// Neither reductions nor products.
template <class E>
inline constexpr bool is_map = census<E>::rows == 0 && census<E>::products == 0;

template <class E>
[[gnu::cold]] void name_mismatch(const void* expression) {
  mismatch_walk::sizes(*static_cast<const E*>(expression));
}

/// The facts of an expression; of a `Rare` one, see runnable_of. Whether it is one call of its device's product is
/// product_epilogue.hpp's to say.
template <class E, bool Rare = false>
inline constexpr expression_facts facts_of{
    .values = &runnable_of<value_program<E>, typename E::device_type, Rare>,
    .leaves = census<E>::leaves,
    .scalars = census<E>::scalars,
    .products = census<E>::products,
    .rows = census<E>::rows,
    .type = dtype_of<typename E::value_type>,
    .is_product = is_product<E>,
    .name_mismatch = is_map<E> ? &name_mismatch<E> : nullptr,
    .fused_product = fused_product_of<E>(),
    .reduce_at_once = census<E>::rows > 0 ? &reduce_at_once : nullptr,
    .run_with_products = census<E>::products > 0 ? &run_with_products : nullptr,
};

}  // namespace detail

}  // namespace kiln
