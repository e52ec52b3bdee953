// SPDX-License-Identifier: BSL-1.0
// A list of op records seen as data: for each op code its name, arity and rules as plain function pointers on symbols.
// Passes over tapes take this table, so none of them names an op.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <kiln/ops/op.hpp>
#include <kiln/tape/rules.hpp>

namespace kiln {

template <class... Ops>
struct op_list {
  static constexpr int size = sizeof...(Ops);
};

namespace detail {

// A derivative rule is a template, whose result is known only once it is instantiated: so it is asked whether its name
// is ambiguous beside another one.
struct another_adjoint {
  static void adjoint();
};
template <class Op>
struct beside_another_adjoint : Op, another_adjoint {};
template <class Op, class... Operands>
concept AdjointOf = requires {
  &Op::template adjoint<symbol, symbol, Operands...>;
};
// Nothing can be beside a final op, whose rule is instantiated. (std::is_final_v would be one more template for each.)
template <class Op>
concept HasAdjoint = (__is_final(Op) && (AdjointOf<Op, symbol> || AdjointOf<Op, symbol, symbol> ||
                                         AdjointOf<Op, symbol, symbol, symbol>)) ||
                     (!__is_final(Op) && !requires { &beside_another_adjoint<Op>::adjoint; });

template <class Op>
constexpr symbol expand_with(symbol a, symbol b, symbol c) {
  if constexpr (Op::arity == 1)
    return Op::value(a);
  else if constexpr (Op::arity == 2)
    return Op::value(a, b);
  else
    return Op::value(a, b, c);
}

constexpr operand_gradients gather(symbol g) {
  return {g, {}, {}};
}
constexpr operand_gradients gather(no_gradient) {
  return {};
}
template <class A, class B, class C>
constexpr operand_gradients gather(adjoints<A, B, C> all) {
  return {symbol(all.a), symbol(all.b), symbol(all.c)};
}
template <class Op>
constexpr operand_gradients differentiate_with(symbol g, symbol y, symbol a, symbol b, symbol c) {
  if constexpr (Op::arity == 1)
    return gather(Op::adjoint(g, y, a));
  else if constexpr (Op::arity == 2)
    return gather(Op::adjoint(g, y, a, b));
  else
    return gather(Op::adjoint(g, y, a, b, c));
}

// Reductions, and what is written with one.
template <class Op>
concept OverRows = requires(bool has) {
  has = Op::has_identity;
};

/// All of an op but its rules, which cost the compiler much more.
template <class Op>
constexpr op_rules facts_of_op() {
  op_rules r{.code = code_of<Op>,
             .named = name_code_of<Op>,
             .name = Op::name,
             .infix = Op::infix,
             .arity = Op::arity,
             .composite = Op::composite,
             .reduces = Op::reduces,
             .over_rows = OverRows<Op>,
             .expensive = Op::expensive,
             .lengthy = Op::lengthy,
             .differentiable = HasAdjoint<Op>,
             .common = &Op::common,
             .result = &Op::result,
             .accepts = &Op::accepts};
  if constexpr (OverRows<Op>) r.has_identity = Op::has_identity;
  return r;
}
template <class Op>
constexpr op_rules rules_of() {
  op_rules r = facts_of_op<Op>();
  r.ready = true;
  if constexpr (Op::composite) r.expand = &expand_with<Op>;
  if constexpr (HasAdjoint<Op>) r.differentiate = &differentiate_with<Op>;
  return r;
}

template <int I, class T>
struct indexed {
  using type = T;
};
template <class Numbers, class... Ops>
struct indexed_list;
template <int... I, class... Ops>
struct indexed_list<std::integer_sequence<int, I...>, Ops...> : indexed<I, Ops>... {};
template <int I, class T>
indexed<I, T> pick(const indexed<I, T>&);

}  // namespace detail

/// The ops of a list, to be found by op code: all rules of theirs, or none, or those of some.
template <class List>
struct op_table;
template <class... Ops>
struct op_table<op_list<Ops...>> {
  using records = detail::indexed_list<std::make_integer_sequence<int, sizeof...(Ops)>, Ops...>;
  using all_rules = std::array<op_rules, sizeof...(Ops)>;
  static constexpr int buckets = 512;
  static constexpr all_rules facts{detail::facts_of_op<Ops>()...};
  static constexpr all_rules rules{detail::rules_of<Ops>()...};
  static constexpr std::array<std::int16_t, buckets> places = [] {
    std::array<std::int16_t, buckets> at{};
    for (auto& p : at) p = -1;
    const auto put = [&](opcode code, std::size_t i) {
      std::size_t b = static_cast<std::size_t>(code) % buckets;
      while (at[b] >= 0) b = (b + 1) % buckets;
      at[b] = static_cast<std::int16_t>(i);
    };
    for (std::size_t i = 0; i < facts.size(); ++i) {
      put(facts[i].code, i);
      if (facts[i].named != facts[i].code) put(facts[i].named, i);
    }
    return at;
  }();
  static constexpr bool codes_differ = [] {
    for (std::size_t i = 0; i < facts.size(); ++i)
      if (rule_table{facts.data(), places.data(), buckets}.index(facts[i].code) != static_cast<int>(i)) return false;
    return true;
  }();
  static_assert(codes_differ, "kiln: two ops have the same code, a hash of their types: rename one of your own");

  static_assert(sizeof...(Ops) <= op_set::most, "kiln: an expression holds too many ops of your own");
  template <class Holds>
  static constexpr op_set set_where(Holds holds) {
    op_set found;
    for (std::size_t i = 0; i < facts.size(); ++i)
      if (holds(facts[i])) found = found | op_set::of(static_cast<int>(i));
    return found;
  }
  static constexpr rule_table table_of(const all_rules& from) {
    return {from.data(),       places.data(),      buckets,          opcode_of("add"), opcode_of("sum"),
            opcode_of("cast"), opcode_of("where"), opcode_of("sub"), opcode_of("mul")};
  }
  static constexpr rule_table facts_table = table_of(facts);
  static constexpr rule_table table = table_of(rules);
};

namespace detail {
// A class, because the table is then made once a code is known, and not where a template speaks of one.
template <class List, opcode Code>
struct op_search {
  using type = typename decltype(pick<op_table<List>::facts_table.index(Code)>(
      std::declval<typename op_table<List>::records>()))::type;
};
}  // namespace detail

/// The record of the op with this code.
template <class List, opcode Code>
using op_with_code = typename detail::op_search<List, Code>::type;

}  // namespace kiln
