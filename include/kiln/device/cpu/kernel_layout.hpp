// SPDX-License-Identifier: BSL-1.0
// What all kernels of a program share, found from its tape in constant expressions: how many elements go in a step,
// which values are kept between passes, how many leaves there are.
#pragma once

#include <algorithm>
#include <cstddef>

#include <kiln/device/cpu/isa.hpp>
#include <kiln/device/cpu/simd/width.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tape/roles.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

/// Facts about a Program (a type with `tape`, `row_root`, `stores`) that all its kernels share.
template <class Program>
struct layout {
  static constexpr const auto& t = Program::tape;
  static constexpr int size = t.size();
  static constexpr dtype compute_type_of(int i) { return kiln::compute_type(t[i].type); }
  static constexpr tape_facts<size> facts = facts_of<size>(view(t), op_rules_table);
  static constexpr auto kept = kept_values<size>(view(t), facts, op_rules_table, Program::row_root);
  /// Elements per step: a full register of the widest type.
  static constexpr int width = [] {
    std::size_t widest = 1;
    for (int i = 0; i < size; ++i)  // what is computed from a number is an instruction of its own
      if (t[i].code != opcode::scalar) widest = std::max(widest, size_of(kiln::compute_type(t[i].type)));
    return std::clamp(vector_bytes / static_cast<int>(widest), 2, 64);
  }();
  static constexpr int kept_count = [] {
    int n = 0;
    for (auto k : kept) n += k >= 0;
    return n;
  }();
  static constexpr int kept_number(int i) {
    int n = 0;
    for (int k = 0; k < i; ++k) n += kept[static_cast<std::size_t>(k)] >= 0;
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
