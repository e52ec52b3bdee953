// SPDX-License-Identifier: BSL-1.0
// A table of ops with the rules of only those that a tape needs: the rules of all take the compiler longer than a short
// expression does. Which those are is found before the passes run, by asking each composite op of an expression what it
// is written out to.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <kiln/ops/table.hpp>

namespace kiln {

namespace detail {

template <class List, int Place>
using op_at = typename decltype(pick<Place>(std::declval<typename op_table<List>::records>()))::type;

/// The ops that a composite one is written out to, asked with operands of float32.
template <class List, int Place>
inline constexpr op_set written_by = [] {
  program p;
  const auto leaf = [&](std::int16_t slot) {
    return symbol{&p, p.push({.code = opcode::leaf, .type = dtype::float32, .slot = slot})};
  };
  expand_with<op_at<List, Place>>(leaf(0), leaf(1), leaf(2));
  op_set written;
  for (int i = 0; i < p.size(); ++i)
    if (is_op(p[i].code)) written = written | op_set::of(op_table<List>::facts_table.index(p[i].code));
  return written;
}();

/// The places of a set, in order.
template <op_set Some>
struct places_in {
  static constexpr std::size_t count = static_cast<std::size_t>(Some.size());
  static constexpr std::array<int, count + 1> at = [] {
    std::array<int, count + 1> found{};
    op_set left = Some;
    for (std::size_t n = 0; n < count; ++n) {
      found[n] = left.first();
      left = left - op_set::of(found[n]);
    }
    return found;
  }();
  using numbers = std::make_index_sequence<count>;
};

template <class List, op_set Some, std::size_t... K>
constexpr op_set written_by_each(std::index_sequence<K...>) {
  return (written_by<List, places_in<Some>::at[K]> | ... | op_set{});
}

/// The composite ops of a list; those with a derivative rule.
template <class List>
inline constexpr op_set composite_ops = op_table<List>::set_where([](const op_rules& op) { return op.composite; });
template <class List>
inline constexpr op_set differentiable_ops = op_table<List>::set_where([](const op_rules& op) {
  return op.differentiable;
});

/// A set, and what is met when its composite ops are written out, but for those that are kept.
template <class List, op_set Some, op_set Kept>
constexpr op_set written_out() {
  constexpr op_set composite = (Some & composite_ops<List>)-Kept;
  constexpr op_set all = Some | written_by_each<List, composite>(typename places_in<composite>::numbers{});
  if constexpr (all == Some)
    return all;
  else
    return written_out<List, all, Kept>();
}

/// The ops of which a pass needs the rules for a tape of `Written`: to write it out, or to write its gradient. (No
/// derivative is written with composite ops today; should one be, the pass says so and runs again.)
template <class List, op_set Written, bool Gradient>
constexpr op_set needed_rules() {
  if constexpr (Gradient) {
    constexpr op_set kept = written_out<List, Written, differentiable_ops<List>>();
    return kept | (written_out<List, kept, op_set{}>() & composite_ops<List>);
  } else {
    return written_out<List, Written, op_set{}>() & composite_ops<List>;
  }
}

}  // namespace detail

/// The ops of a list, with the rules of some.
template <class List, op_set Some>
struct op_table_with {
  template <std::size_t... K>
  static constexpr auto with_rules(std::index_sequence<K...>) {
    using places = detail::places_in<Some>;
    auto all = op_table<List>::facts;
    ((all[static_cast<std::size_t>(places::at[K])] = detail::rules_of<detail::op_at<List, places::at[K]>>()), ...);
    return all;
  }
  static constexpr auto rules = with_rules(typename detail::places_in<Some>::numbers{});
  static constexpr rule_table table = op_table<List>::table_of(rules);
};

}  // namespace kiln
