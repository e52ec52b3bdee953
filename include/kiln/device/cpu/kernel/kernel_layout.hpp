// SPDX-License-Identifier: BSL-1.0
// What all kernels of a program share, found from its tape in constant expressions: how many elements go in a step,
// which values are kept between passes, how many leaves there are, how sums are laid out. The interpreter follows it,
// so that both executors give the same bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/simd/width.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tape/roles.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Elements that a program computes in a step: a full register of its widest type.
constexpr int step_width(const tape_view& t) {
  std::size_t widest = 1;
  for (int i = 0; i < t.size; ++i)  // what is computed from a number is an instruction of its own
    if (t[i].code != opcode::scalar) widest = std::max(widest, size_of(kiln::compute_type(t[i].type)));
  return std::clamp(vector_bytes / static_cast<int>(widest), 2, 64);
}
/// Accumulators side by side for each reduction of a pass that computes `work` values per element: several hide the
/// latency of adding; expensive loops hide it by themselves.
constexpr int accumulators(int work) {
  return work <= 4 ? 4 : work <= 12 ? 2 : 1;
}
/// Elements after which sums move on to others, so that no accumulator takes more than 32 values.
constexpr std::int64_t run_of_sums(int side_by_side, int width) {
  return std::int64_t{32} * side_by_side * width;
}
/// Longest strip of a pass whose sums are as accurate as pairwise summation: accumulators of 32 values each, and of 32
/// of those.
constexpr std::int64_t longest_strip(bool reduces, int side_by_side, int width) {
  return reduces ? 32 * run_of_sums(side_by_side, width) : 32 * 2048;
}
/// Rough work per element, in cheap operations.
constexpr int work_of(const tape_view& t, const rule_table& ops) {
  int cost = 1;
  for (int i = 0; i < t.size; ++i) {
    const found_rules op = ops.find(t[i].code);
    if (op) cost += op->expensive ? 6 : 1;
  }
  return cost;
}

/// Facts about a Program (a type with `tape`, `reduction_rooted`, `stores`) that all its kernels share.
template <class Program>
struct kernel_layout {
  static constexpr const auto& t = Program::tape;
  static constexpr int size = t.size();
  static constexpr dtype compute_type_of(int i) { return kiln::compute_type(t[i].type); }
  struct all_facts : tape_facts {
    std::array<value_facts, static_cast<std::size_t>(size)> values{};
  };
  static constexpr all_facts facts = [] {
    all_facts f;
    static_cast<tape_facts&>(f) = find_facts(view(t), op_facts_table, f.values.data());
    find_kept(view(t), f, op_facts_table, Program::reduction_rooted, f.values.data());
    return f;
  }();
  static constexpr const value_facts& value(int i) { return facts.values[static_cast<std::size_t>(i)]; }
  /// Where each reduction stands.
  static constexpr auto reductions = [] {
    std::array<std::int16_t, static_cast<std::size_t>(facts.reductions) + 1> at{};
    for (int i = 0; i < size; ++i)
      if (const int r = value(i).reduction; r >= 0) at[static_cast<std::size_t>(r)] = static_cast<std::int16_t>(i);
    return at;
  }();
  /// Elements per step: a full register of the widest type.
  static constexpr int width = step_width(view(t));
  static constexpr int kept_count = [] {
    int n = 0;
    for (const value_facts& v : facts.values) n += v.kept >= 0;
    return n;
  }();
  static constexpr int kept_number(int i) {
    int n = 0;
    for (int k = 0; k < i; ++k) n += value(k).kept >= 0;
    return n;
  }
  static constexpr int slots = [] {
    int n = 0;
    for (int i = 0; i < size; ++i)
      if (t[i].code == opcode::leaf) n = std::max(n, t[i].slot + 1);
    return n;
  }();
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
