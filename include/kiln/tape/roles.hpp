// SPDX-License-Identifier: BSL-1.0
// How a tape is cut into kernels. A tape without reductions is one kernel ("map"). A row program is one kernel per
// pass over the row ("pass"); if its result is one value per row, the last one runs over the rows instead ("rows").
// For each kernel, `roles` says of every instruction whether it is computed once, per element, read back, or not at
// all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <kiln/tape/levels.hpp>

namespace kiln {

enum class kernel_kind : std::uint8_t {
  map,       ///< no reductions: every result for every element
  pass,      ///< one pass over a row: reductions that become ready in it, and in the last pass the results
  rows,      ///< after all passes: results that are one value per row, for many rows at a time
  operands,  ///< the operands of the first pass's reductions, stored: for reducing across rows instead of along them
};

enum class role : std::uint8_t { none, once, each, read_back };

/// Facts about a tape of N instructions that do not depend on the kernel.
template <int N>
struct tape_facts {
  std::array<level, static_cast<std::size_t>(N)> levels{};
  std::array<std::int16_t, static_cast<std::size_t>(N)> phases{};
  std::array<std::int16_t, static_cast<std::size_t>(N)> reduction{};  ///< its number among the reductions, or -1
  int reductions = 0;
  int last_phase = 0;  ///< passes before the one that can deliver every result
};

template <int N>
constexpr tape_facts<N> facts_of(const tape_view& t, const rule_table& ops) {
  tape_facts<N> f;
  for (int i = 0; i < N; ++i) {
    const std::size_t k = static_cast<std::size_t>(i);
    f.levels[k] = level_of(t[i], f.levels.data(), ops);
    f.phases[k] = static_cast<std::int16_t>(phase_of(t[i], f.phases.data(), ops));
    const found_rules op = ops.find(t[i].code);
    f.reduction[k] = op && op->reduces ? static_cast<std::int16_t>(f.reductions++) : std::int16_t{-1};
    if (f.phases[k] > f.last_phase) f.last_phase = f.phases[k];
  }
  // Without reductions there are no rows: a value per row is a leaf like any other.
  if (f.reductions == 0)
    for (auto& l : f.levels)
      if (l == level::row) l = level::element;
  return f;
}

template <int N>
using role_list = std::array<role, static_cast<std::size_t>(N)>;

namespace detail {

template <int N>
constexpr void mark(role_list<N>& out, const tape_view& t, const tape_facts<N>& f, const rule_table& ops,
                    const std::array<std::int16_t, static_cast<std::size_t>(N)>& kept_since, kernel_kind kind, int pass,
                    int i) {
  const std::size_t k = static_cast<std::size_t>(i);
  if (i < 0 || out[k] != role::none) return;
  const bool reduction = f.reduction[k] >= 0;
  if (kind == kernel_kind::rows) {
    out[k] = f.levels[k] == level::number ? role::once : role::each;
    if (reduction) return;
  } else {
    out[k] = f.levels[k] == level::element ? role::each : role::once;
    if (reduction) return;  // finished in an earlier pass
    if (kept_since[k] >= 0 && kept_since[k] < pass) {
      out[k] = role::read_back;
      return;
    }
  }
  mark<N>(out, t, f, ops, kept_since, kind, pass, t[i].a);
  mark<N>(out, t, f, ops, kept_since, kind, pass, t[i].b);
  mark<N>(out, t, f, ops, kept_since, kind, pass, t[i].c);
}

}  // namespace detail

/// The roles in one kernel. `kept_since[i]` is the pass that keeps value i for later passes, or -1.
template <int N>
constexpr role_list<N> roles_in(const tape_view& t, const tape_facts<N>& f, const rule_table& ops,
                                const std::array<std::int16_t, static_cast<std::size_t>(N)>& kept_since,
                                kernel_kind kind, int pass, bool row_root) {
  role_list<N> out{};
  const bool delivers = kind == kernel_kind::map || kind == kernel_kind::rows ||
                        (kind == kernel_kind::pass && pass == f.last_phase && !row_root);
  if (delivers)
    for (int r = 0; r < t.result_count; ++r) detail::mark<N>(out, t, f, ops, kept_since, kind, pass, t.results[r]);
  if (kind == kernel_kind::pass || kind == kernel_kind::operands)
    for (int i = 0; i < N; ++i)
      if (f.reduction[static_cast<std::size_t>(i)] >= 0 && f.phases[static_cast<std::size_t>(i)] == pass + 1)
        detail::mark<N>(out, t, f, ops, kept_since, kind, pass, t[i].a);
  return out;
}

/// Dear values that several passes need are kept by the first: the pass that keeps value i, or -1.
template <int N>
constexpr std::array<std::int16_t, static_cast<std::size_t>(N)> kept_values(const tape_view& t, const tape_facts<N>& f,
                                                                            const rule_table& ops, bool row_root) {
  std::array<std::int16_t, static_cast<std::size_t>(N)> none{}, kept{};
  for (auto& k : none) k = -1;
  kept = none;
  const int passes = f.last_phase + (row_root ? 0 : 1);
  for (int p = 0; p < passes; ++p) {
    const auto roles = roles_in<N>(t, f, ops, kept, kernel_kind::pass, p, row_root);
    for (int later = p + 1; later < passes; ++later) {
      const auto again = roles_in<N>(t, f, ops, none, kernel_kind::pass, later, row_root);
      for (int i = 0; i < N; ++i) {
        const std::size_t k = static_cast<std::size_t>(i);
        const found_rules op = ops.find(t[i].code);
        if (roles[k] == role::each && again[k] == role::each && kept[k] < 0 && op && op->dear && !op->reduces)
          kept[k] = static_cast<std::int16_t>(p);
      }
    }
  }
  return kept;
}

}  // namespace kiln
