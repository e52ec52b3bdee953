// SPDX-License-Identifier: BSL-1.0
// From the type of an expression to its tape, at compile time. Read `flattener` for the walk and `sharing` for how
// repeated parts of a row program are recognised.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include <kiln/expr/node.hpp>
#include <kiln/expr/own_ops.hpp>
#include <kiln/expr/product.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tape/expand.hpp>
#include <kiln/tape/gradient.hpp>

namespace kiln {

namespace detail {
// A number that stands for a type made of a name, an element type and parts. (The address of a variable template would
// do, but comparing two is no constant expression for g++ under -fsanitize=undefined.)
constexpr std::uint64_t type_number(std::uint64_t name, dtype type, std::initializer_list<std::uint64_t> parts = {}) {
  std::uint64_t h = name * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(type);
  auto mix = [&h] { h = (h ^ (h >> 32)) * 0xff51afd7ed558ccdu; };
  mix();
  for (std::uint64_t part : parts) {
    h += part ^ (part >> 31);
    mix();
  }
  return h;
}

/// What a leaf type stands for on a tape: it may say so.
template <class X>
inline constexpr leaf_kind kind_of_leaf = leaf_kind::element;
template <class X>
  requires requires {
    X::kind;
  }
inline constexpr leaf_kind kind_of_leaf<X> = X::kind;
/// The numbers that a leaf brings: of one that is drawn, seed and first block of its stream.
template <class X>
inline constexpr int numbers_of_leaf = is_drawn(kind_of_leaf<X>) ? 2 : 0;

/// An op of the library's list as a set; none for others.
template <class Op>
inline constexpr op_set place_of = op_set::of(op_facts_table.index(code_of<Op>));
}  // namespace detail

/// What an expression type holds: ops of the list; counted, leaves (products included), numbers, reductions and row
/// functions; whether leaves in it may be taken for repeated ones; and a number that stands for the type.
template <class X>
struct census {
  static constexpr op_set ops{};
  static constexpr int leaves = 1, scalars = detail::numbers_of_leaf<X>, rows = 0, products = 0;
  static constexpr bool repeats = true;
  static constexpr std::uint64_t type =
      detail::type_number(1, dtype_of<typename X::value_type>, {static_cast<std::uint64_t>(detail::kind_of_leaf<X>)});
};
template <class T>
struct census<scalar<T>> {
  static constexpr op_set ops{};
  static constexpr int leaves = 0, scalars = 1, rows = 0, products = 0;
  static constexpr bool repeats = true;
  static constexpr std::uint64_t type = detail::type_number(2, dtype_of<T>);
};
template <class A, class B>
struct census<product<A, B>> {
  static constexpr op_set ops{};
  static constexpr int leaves = 1, scalars = 0, rows = 0, products = 1;
  static constexpr bool repeats = true;
  static constexpr std::uint64_t type = detail::type_number(3, dtype_of<typename A::value_type>);
};
template <class Op, class... X>
struct census<node<Op, X...>> {
  static constexpr op_set ops = detail::place_of<Op> | (census<X>::ops | ...);
  static constexpr std::uint64_t type = detail::type_number(
      static_cast<std::uint64_t>(code_of<Op>), dtype_of<typename node<Op, X...>::value_type>, {census<X>::type...});
  static constexpr int leaves = (census<X>::leaves + ...), scalars = (census<X>::scalars + ...),
                       rows = (census<X>::rows + ...), products = (census<X>::products + ...);
  static constexpr bool repeats = !std::is_same_v<Op, tangent_op> && (census<X>::repeats && ...);
};
template <class Op, class A>
struct census<row_node<Op, A>> {
  static constexpr op_set ops = detail::place_of<Op> | census<A>::ops;
  static constexpr std::uint64_t type = detail::type_number(
      static_cast<std::uint64_t>(code_of<Op>), dtype_of<typename row_node<Op, A>::value_type>, {census<A>::type});
  static constexpr int leaves = census<A>::leaves, scalars = census<A>::scalars + Op::arity - 1,
                       rows = census<A>::rows + 1, products = census<A>::products;
  static constexpr bool repeats = census<A>::repeats;
};

namespace detail {

// In a row program the same tensor stands in several places (x - mean(x)), but each place is a leaf of its own: types
// cannot tell two tensors apart. Where it is likely that a leaf repeats an earlier one, the tape is made under that
// assumption, and the evaluator checks it against the actual tensors before it uses the tape.
//  - A subtree that holds a reduction, or is the operand of one, repeats an earlier subtree of the same type.
//  - The first leaf under a reduction repeats the first leaf of its type.
template <class X, int Leaves, int Scalars>
class sharing {
 public:
  std::array<std::int16_t, static_cast<std::size_t>(Leaves) + 1> leaf{};
  std::array<std::int16_t, static_cast<std::size_t>(Scalars) + 1> number{};
  constexpr sharing() {
    for (int i = 0; i < Leaves; ++i) leaf[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(i);
    for (int i = 0; i < Scalars; ++i) number[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(i);
    if constexpr (census<X>::rows > 0 && census<X>::repeats) visit(std::type_identity<X>{}, false);
  }

 private:
  struct sighting {
    std::uint64_t type = 0;
    int leaf = 0, number = 0;
  };
  static constexpr int capacity = 8 * (Leaves + Scalars) + 64;
  std::array<sighting, static_cast<std::size_t>(capacity)> seen_{};
  int seen_count_ = 0, leaves_ = 0, numbers_ = 0;
  bool first_below_reduction_ = false;

  template <class T>
  constexpr void visit(std::type_identity<T>, bool operand_of_reduction) {
    const int leaf_begin = leaves_, number_begin = numbers_;
    int at = 0;
    while (at < seen_count_ && seen_[static_cast<std::size_t>(at)].type != census<T>::type) ++at;
    const bool again = at < seen_count_;
    const sighting before = again ? seen_[static_cast<std::size_t>(at)] : sighting{};
    const bool first = first_below_reduction_ && Leaf<T> && kind_of_leaf<T> == leaf_kind::element;
    descend(std::type_identity<T>{});
    if (again && (operand_of_reduction || census<T>::rows > 0 || first)) {
      for (int i = leaf_begin; i < leaves_; ++i)
        leaf[static_cast<std::size_t>(i)] = leaf[static_cast<std::size_t>(before.leaf + i - leaf_begin)];
      for (int i = number_begin; i < numbers_; ++i)
        number[static_cast<std::size_t>(i)] = number[static_cast<std::size_t>(before.number + i - number_begin)];
    } else if (!again && seen_count_ < capacity) {
      seen_[static_cast<std::size_t>(seen_count_++)] = {census<T>::type, leaf_begin, number_begin};
    }
  }
  template <class T>
  constexpr void descend(std::type_identity<T>) {  // a tensor or a product
    ++leaves_;
    numbers_ += numbers_of_leaf<T>;
    first_below_reduction_ = false;
  }
  template <class T>
  constexpr void descend(std::type_identity<scalar<T>>) {
    ++numbers_;
  }
  template <class Op, class... Parts>
  constexpr void descend(std::type_identity<node<Op, Parts...>>) {
    (visit(std::type_identity<Parts>{}, false), ...);
  }
  template <class Op, class A>
  constexpr void descend(std::type_identity<row_node<Op, A>>) {
    first_below_reduction_ = true;
    visit(std::type_identity<A>{}, true);
    first_below_reduction_ = false;
    numbers_ += Op::arity - 1;
  }
};

/// Defined in expr/tangent.hpp: writes the tangent of A.
template <class A, class B>
struct tangent_writer;

// The walk that writes the tape: operands before what uses them.
template <class Sharing>
struct flattener {
  program& out;
  const Sharing& shared;
  int leaves = 0, scalars = 0;

  constexpr int number(dtype type) {
    const int slot = shared.number[static_cast<std::size_t>(scalars++)];
    return out.push({.code = opcode::scalar, .type = compute_type(type), .slot = static_cast<std::int16_t>(slot)});
  }
  template <class T>
  constexpr int visit(std::type_identity<T>) {
    instruction now{.code = opcode::leaf,
                    .type = dtype_of<typename T::value_type>,
                    .slot = shared.leaf[static_cast<std::size_t>(leaves++)],
                    .literal = static_cast<std::uint64_t>(kind_of_leaf<T>)};
    if constexpr (numbers_of_leaf<T> != 0) {
      now.a = static_cast<std::int16_t>(number(dtype::int64));
      now.b = static_cast<std::int16_t>(number(dtype::int64));
    }
    return out.push(now);
  }
  template <class T>
  constexpr int visit(std::type_identity<scalar<T>>) {
    return number(dtype_of<T>);
  }
  // A cast keeps its target even if it is a half type (it rounds there); everything else computes wider.
  template <class Op, class T>
  static constexpr dtype type_for() {
    return code_of<Op> == code_of<cast_op> ? dtype_of<T> : compute_type(dtype_of<T>);
  }
  template <class Op, class... X>
  constexpr int visit(std::type_identity<node<Op, X...>>) {
    const std::array<int, sizeof...(X)> at{visit(std::type_identity<X>{})...};
    instruction now{.code = code_of<Op>, .type = type_for<Op, typename node<Op, X...>::value_type>()};
    now.a = static_cast<std::int16_t>(at[0]);
    if constexpr (sizeof...(X) > 1) now.b = static_cast<std::int16_t>(at[1]);
    if constexpr (sizeof...(X) > 2) now.c = static_cast<std::int16_t>(at[2]);
    // A half becomes a float at its load: no instruction.
    if (code_of<Op> == code_of<cast_op> && compute_type(out[at[0]].type) == now.type) return at[0];
    return out.push(now);
  }
  template <class A, class B>
  constexpr int visit(std::type_identity<node<tangent_op, A, B>>) {
    return tangent_writer<A, B>::write(*this);
  }
  template <class Op, class A>
  constexpr int visit(std::type_identity<row_node<Op, A>>) {
    const dtype type = compute_type(dtype_of<typename row_node<Op, A>::value_type>);
    instruction now{.code = code_of<Op>, .type = type};
    now.a = static_cast<std::int16_t>(visit(std::type_identity<A>{}));
    if constexpr (Op::arity > 1) now.b = static_cast<std::int16_t>(number(type));
    if constexpr (Op::arity > 2) now.c = static_cast<std::int16_t>(number(type));
    return out.push(now);
  }
};

template <class X>
constexpr void flatten(program& out) {
  constexpr sharing<X, census<X>::leaves, census<X>::scalars> shared;
  flattener<sharing<X, census<X>::leaves, census<X>::scalars>> walk{out, shared};
  out.add_result(walk.visit(std::type_identity<X>{}));
}

}  // namespace detail

/// Which leaf (and number) each leaf of X is assumed to repeat; itself if none.
template <class X>
inline constexpr auto shared_leaves = detail::sharing<X, census<X>::leaves, census<X>::scalars>{};

/// The tape of X as written, composite ops not yet written out.
template <class X>
inline constexpr auto written_tape = finished([](program& out) { detail::flatten<X>(out); });

namespace detail {

/// A tape of at most `room` instructions and results; of a longer one its size only.
struct trial {
  static constexpr int room = 256;
  int size = 0, results = 0;
  op_set missing;
  instruction code[room] = {};
  std::int16_t result[room] = {};
  constexpr bool holds_all() const { return size <= room && results <= room; }
};
/// What `Build` makes with the rules of `Some`, and which others it asks for. A variable, as clang would run it anew
/// with every call of a function whose constant it is, and count all that as steps of one constant expression.
template <class List, op_set Some, class Build>
inline constexpr trial tried = [] {
  trial t;
  rule_table ops = op_table_with<List, Some>::table;
  ops.missing = &t.missing;
  program p;
  Build{}(p, ops);
  t.size = p.size();
  t.results = p.result_count;
  if (t.missing == op_set{} && t.holds_all()) {
    for (int i = 0; i < t.size; ++i) t.code[i] = p[i];
    for (int r = 0; r < t.results; ++r) t.result[r] = p.results[r];
  }
  return t;
}();

/// Runs `build(program&, const rule_table&)` as `finished` does, with the rules of `Some`; where it asks for others
/// (what a rule writes may depend on its operands), again with those.
template <class List, op_set Some, class Build>
constexpr auto finished_with(Build build) {
  constexpr const trial& made = tried<List, Some, Build>;
  if constexpr (made.missing == op_set{} && made.holds_all()) {
    tape<made.size, made.results> t;
    for (int i = 0; i < made.size; ++i) t.code[static_cast<std::size_t>(i)] = made.code[i];
    for (int r = 0; r < made.results; ++r) t.results[static_cast<std::size_t>(r)] = made.result[r];
    return t;
  } else if constexpr (made.missing == op_set{})
    return tape_of<made.size, made.results>([=](program& p) { build(p, op_table_with<List, Some>::table); });
  else
    return finished_with<List, Some | made.missing>(build);
}
template <class X, bool Gradient, class Build>
constexpr auto finished_with_rules(Build build) {
  return finished_with<ops_for<X>, needed_rules<ops_for<X>, census<X>::ops, Gradient>()>(build);
}

}  // namespace detail

/// The tape that computes X.
template <class X>
inline constexpr auto value_tape = detail::finished_with_rules<X, false>([](program& out, const rule_table& ops) {
  program written, flat;
  detail::flatten<X>(written);
  expand(written, flat, ops, false);
  keep_needed(flat, out);
});

/// The tape that computes the gradient of every leaf of X (see `gradient`).
template <class X>
inline constexpr auto gradient_tape = detail::finished_with_rules<X, true>([](program& out, const rule_table& ops) {
  program written, kept;
  detail::flatten<X>(written);
  expand(written, kept, ops, true);
  gradient(kept, out, ops, census<X>::leaves, dtype_of<typename X::value_type>);
});

}  // namespace kiln
