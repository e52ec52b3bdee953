// SPDX-License-Identifier: BSL-1.0
// How a tape is cut into kernels. A tape without reductions is one kernel ("map"). A row program is one kernel per
// pass over the row ("pass"); if its result is one value per row, the last one runs over the rows instead ("rows").
// For each kernel, `roles` says of every instruction whether it is computed once, per element, read back, or not at
// all.
#pragma once

#include <algorithm>
#include <cstdint>

#include <kiln/tape/levels.hpp>

namespace kiln {

enum class kernel_kind : std::uint8_t {
  map,       ///< no reductions: every result for every element
  pass,      ///< one pass over a row: reductions that become ready in it, and in the last pass the results
  rows,      ///< after all passes: results that are one value per row, for many rows at a time
  operands,  ///< the operands of the first pass's reductions, stored: for reducing across rows instead of along them
};

enum class role : std::uint8_t {
  none,
  once,
  each,
  read_back,
  joined,  ///< a product per element that the one value computed of it adds, and rounds only then
};

/// What is known of one value of a tape whatever kernel computes it.
struct value_facts {
  level at = level::number;
  std::int16_t phase = 0;       ///< reductions on the longest way from a leaf to it
  std::int16_t reduction = -1;  ///< its number among the reductions, or -1
  std::int16_t kept = -1;       ///< the pass that keeps it for later ones, or -1
};
struct tape_facts {
  int reductions = 0;
  int last_phase = 0;  ///< passes before the one that can deliver every result
  /// Passes over a row.
  constexpr int passes(bool reduction_rooted) const {
    return reductions == 0 ? 0 : last_phase + (reduction_rooted ? 0 : 1);
  }
};

/// Fills in `values`, one per instruction, but for `kept`. `leaf_level(x)` is the level of a leaf instruction: of those
/// who know more of leaves than the tape says.
template <class LeafLevel>
constexpr tape_facts find_facts(const tape_view& t, const rule_table& ops, value_facts* values, LeafLevel leaf_level) {
  tape_facts f;
  for (int i = 0; i < t.size; ++i) {
    const instruction& now = t[i];
    value_facts& v = values[i];
    v = {};
    const found_rules op = ops.find(now.code);
    if (now.code == opcode::leaf) v.at = leaf_level(now);  // what it may have for operands says where it lies
    for (const int x : {int{now.a}, int{now.b}, int{now.c}})
      if (x >= 0 && now.code != opcode::leaf) {
        v.at = std::max(v.at, values[x].at);
        v.phase = std::max(v.phase, values[x].phase);
      }
    if (op && op->reduces) {
      v.at = level::row;
      ++v.phase;
      v.reduction = static_cast<std::int16_t>(f.reductions++);
    }
    f.last_phase = std::max<int>(f.last_phase, v.phase);
  }
  return f;
}
constexpr tape_facts find_facts(const tape_view& t, const rule_table& ops, value_facts* values) {
  const tape_facts f = find_facts(t, ops, values, [&](const instruction& x) { return level_of(x, nullptr, ops); });
  // Without reductions there are no rows: a value per row is a leaf like any other.
  if (f.reductions == 0)
    for (int i = 0; i < t.size; ++i)
      if (values[i].at == level::row) values[i].at = level::element;
  return f;
}

namespace detail {

struct role_marker {
  const tape_view& t;
  const value_facts* values;
  role* out;
  kernel_kind kind;
  int pass;
  bool reads_back;
  constexpr void mark(int i) const {
    if (i < 0 || out[i] != role::none) return;
    const value_facts& v = values[i];
    if (kind == kernel_kind::rows) {
      out[i] = v.at == level::number ? role::once : role::each;
      if (v.reduction >= 0) return;
    } else {
      out[i] = v.at == level::element ? role::each : role::once;
      if (v.reduction >= 0) return;  // finished in an earlier pass
      if (reads_back && v.kept >= 0 && v.kept < pass) {
        out[i] = role::read_back;
        return;
      }
    }
    mark(t[i].a);
    mark(t[i].b);
    mark(t[i].c);
  }
};

}  // namespace detail

/// Whether a kernel delivers the results of the program.
constexpr bool delivers_results(const tape_facts& f, kernel_kind kind, int pass, bool reduction_rooted) {
  return kind == kernel_kind::map || kind == kernel_kind::rows ||
         (kind == kernel_kind::pass && pass == f.last_phase && !reduction_rooted);
}

/// The roles in one kernel, one per instruction, into `out`. Without `reads_back`, as if no pass kept anything.
constexpr void find_roles(const tape_view& t, const tape_facts& f, const value_facts* values, kernel_kind kind,
                          int pass, bool reduction_rooted, role* out, bool reads_back = true) {
  for (int i = 0; i < t.size; ++i) out[i] = role::none;
  const detail::role_marker marker{t, values, out, kind, pass, reads_back};
  if (delivers_results(f, kind, pass, reduction_rooted))
    for (int r = 0; r < t.result_count; ++r) marker.mark(t.results[r]);
  if (kind == kernel_kind::pass || kind == kernel_kind::operands)
    for (int i = 0; i < t.size; ++i)
      if (values[i].reduction >= 0 && values[i].phase == pass + 1) marker.mark(t[i].a);
}

/// Gives the role `joined` to products of floating numbers that are used once, by a sum: x * y + z then rounds once
/// where the hardware can. Said here, and not left to compilers, it is the same in every loop and executor.
constexpr void join_products(const tape_view& t, const tape_facts& f, const rule_table& ops, const value_facts* values,
                             kernel_kind kind, int pass, bool reduction_rooted, role* roles) {
  detail::scratch<std::int16_t> by(t.size);  // who uses a value: -1 nobody, -2 several
  for (int i = 0; i < t.size; ++i) by.data()[i] = -1;
  auto use = [&](int value, int user) {
    if (value >= 0) by.data()[value] = static_cast<std::int16_t>(by.data()[value] == -1 ? user : -2);
  };
  for (int i = 0; i < t.size; ++i) {
    const bool computed = (roles[i] == role::each || roles[i] == role::once) && values[i].reduction < 0;
    const bool folded = values[i].reduction >= 0 && values[i].phase == pass + 1 && kind == kernel_kind::pass;
    if (computed || folded)
      for (const int x : {int{t[i].a}, int{t[i].b}, int{t[i].c}}) use(x, i);
  }
  if (delivers_results(f, kind, pass, reduction_rooted))
    for (int r = 0; r < t.result_count; ++r) use(t.results[r], -2);
  if (kind == kernel_kind::operands) return;
  for (int i = 0; i < t.size; ++i) {
    const int user = by.data()[i];
    if (t[i].code != ops.mul || roles[i] != role::each || user < 0 || !is_floating(t[i].type) ||
        (kind == kernel_kind::pass && values[i].kept == pass))
      continue;
    const instruction& sum = t[user];
    if (compute_type(sum.type) != compute_type(t[i].type)) continue;
    const int other = sum.a == i ? sum.b : sum.a;
    const bool adds = sum.code == ops.add || sum.code == ops.sub;
    if (sum.code == ops.sum || (adds && roles[other] != role::joined)) roles[i] = role::joined;
  }
}

/// Values for which `keeps(i)` is true, and that several passes need, are kept by the first: fills in `kept`.
template <class Keeps>
constexpr void find_kept(const tape_view& t, const tape_facts& f, bool reduction_rooted, value_facts* values,
                         Keeps keeps) {
  const int passes = f.passes(reduction_rooted);
  if (passes < 2) return;
  detail::scratch<role> now(t.size), later(t.size);
  for (int p = 0; p < passes; ++p) {
    find_roles(t, f, values, kernel_kind::pass, p, reduction_rooted, now.data());
    for (int next = p + 1; next < passes; ++next) {
      find_roles(t, f, values, kernel_kind::pass, next, reduction_rooted, later.data(), false);
      for (int i = 0; i < t.size; ++i) {
        if (now.data()[i] != role::each || later.data()[i] != role::each || values[i].kept >= 0) continue;
        if (keeps(i)) values[i].kept = static_cast<std::int16_t>(p);
      }
    }
  }
}
/// Of expensive values.
constexpr void find_kept(const tape_view& t, const tape_facts& f, const rule_table& ops, bool reduction_rooted,
                         value_facts* values) {
  find_kept(t, f, reduction_rooted, values, [&](int i) {
    const found_rules op = ops.find(t[i].code);
    return op && op->expensive && !op->reduces;
  });
}

}  // namespace kiln
