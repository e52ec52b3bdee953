// SPDX-License-Identifier: BSL-1.0
// Two ways to write a tree: a list of (depth;value) in order, and lists of a value and the trees below it.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/objects.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/value.hpp>

namespace kiln::k::trees {

/// The tree whose value stands at `next`; moves on behind it.
inline owned nested(object pairs, std::int64_t& next, std::int64_t depth) {
  const auto at = [&](std::int64_t i, int part) { return items<object>(items<object>(pairs)[i])[part]; };
  std::vector<owned> tree;
  tree.push_back(owned::share(at(next++, 1)));
  while (next<pairs->count&& * read_long(at(next, 0))> depth) {
    if (*read_long(at(next, 0)) != depth + 1)
      throw value_error(message("depth ", *read_long(at(next, 0)), " follows ", depth));
    tree.push_back(nested(pairs, next, depth + 1));
  }
  return owned(collapse(std::move(tree)));
}

inline object tree(std::string_view, object x) {
  if (x->type != mixed_type || x->count == 0)
    throw value_error(message("expects (depth;value) pairs, given ", describe(x)));
  for (object pair : span_of<object>(x)) {
    const auto depth = pair->type == mixed_type && pair->count == 2 ? read_long(items<object>(pair)[0]) : std::nullopt;
    if (!depth || *depth < 0 || *depth > 100) throw value_error("expects (depth;value) pairs, depths from 0 to 100");
  }
  std::int64_t next = 0;
  const std::int64_t first = *read_long(items<object>(items<object>(x)[0])[0]);
  owned made = nested(x, next, first);
  if (next != x->count) throw value_error("expects one value of the first depth, and all others below it");
  return made.release();
}

inline void flat(object x, std::int64_t depth, std::vector<owned>& into) {
  if (depth > 100) throw value_error("the tree is deeper than 100");
  const bool list =
      is_list(x) && (x->type == mixed_type || x->type == symbol_type) && x->count > 0 && !handle_number(x);
  owned value = list ? item_of(x, 0) : owned::share(x);
  into.emplace_back(knk(2, kj(depth), value.release()));
  for (std::int64_t i = 1; list && i < x->count; ++i) {
    const owned child = item_of(x, i);
    flat(child.get(), depth + 1, into);
  }
}

inline object dv(std::string_view, object x) {
  std::vector<owned> pairs;
  flat(x, 0, pairs);
  return make_list(std::move(pairs));
}

}  // namespace kiln::k::trees

namespace kiln::k {

inline void offer_trees(registry& r) {
  r.offer("tree", trees::tree);
  r.offer("dv", trees::dv);
}

}  // namespace kiln::k
