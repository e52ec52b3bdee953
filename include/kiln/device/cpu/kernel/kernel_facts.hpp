// SPDX-License-Identifier: BSL-1.0
// What is known of one kernel of a program before it runs: the role of each value, the values in lists by what is to be
// done with them, and the shape of its loops. kernel.hpp does nothing for values that are in none of its lists, not
// even call an empty function: with dozens of values and kernels, those take most of the time that compiling takes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <kiln/device/cpu/kernel/kernel_layout.hpp>
#include <kiln/device/cpu/processor/isa.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// One of the values of a kernel; `cells` are those of a list, one each.
template <int I, class V>
struct cell {
  V v;
};
template <class Types, class Numbers>
struct cells;
template <class Types, int... I>
struct cells<Types, std::integer_sequence<int, I...>> : cell<I, typename Types::template at<I>>... {};

/// The numbers below Size for which `Holds`, in order, as a type.
template <int Size, bool (*Holds)(int)>
constexpr auto list_where() {
  constexpr int count = [] {
    int n = 0;
    for (int i = 0; i < Size; ++i) n += Holds(i);
    return n;
  }();
  constexpr auto all = [] {
    std::array<int, static_cast<std::size_t>(count) + 1> found{};
    for (int i = 0, n = 0; i < Size; ++i)
      if (Holds(i)) found[static_cast<std::size_t>(n++)] = i;
    return found;
  }();
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return std::integer_sequence<int, all[K]...>{};
  }
  (std::make_index_sequence<static_cast<std::size_t>(count)>{});
}

}  // namespace detail

template <class Program, kernel_kind Kind, int Pass>
struct kernel_facts {
  using plan = kernel_layout<Program>;
  static constexpr const auto& t = Program::tape;
  static constexpr int N = plan::width;
  static constexpr auto roles = [] {
    std::array<role, static_cast<std::size_t>(plan::size)> out{};
    find_roles(view(t), plan::facts, plan::facts.values.data(), Kind, Pass, Program::reduction_rooted, out.data());
    join_products(view(t), plan::facts, op_facts_table, plan::facts.values.data(), Kind, Pass,
                  Program::reduction_rooted, out.data());
    return out;
  }();
  static constexpr bool delivers = delivers_results(plan::facts, Kind, Pass, Program::reduction_rooted);

  static constexpr role role_of(int i) { return roles[static_cast<std::size_t>(i)]; }
  static constexpr bool per_strip(int i) { return role_of(i) == role::once; }
  static constexpr bool per_element(int i) { return role_of(i) == role::each || role_of(i) == role::read_back; }
  static constexpr bool leaf_per_element(int i) { return t[i].code == opcode::leaf && role_of(i) == role::each; }
  static constexpr bool joins(int i) { return i >= 0 && role_of(i) == role::joined; }
  static constexpr int reduction_of(int i) { return plan::value(i).reduction; }
  static constexpr bool reduced_here(int i) {
    return reduction_of(i) >= 0 && (Kind == kernel_kind::pass || Kind == kernel_kind::operands) &&
           plan::value(i).phase == Pass + 1;
  }
  static constexpr bool folded_here(int i) { return Kind == kernel_kind::pass && reduced_here(i); }
  static constexpr bool keeps(int i) {
    return Kind == kernel_kind::pass && plan::value(i).kept == Pass && role_of(i) == role::each;
  }

  static constexpr int work = [] {
    int n = 0;
    for (int i = 0; i < plan::size; ++i) n += per_element(i);
    return n;
  }();
  static constexpr int lengthy_values = [] {
    int n = 0;
    for (int i = 0; i < plan::size; ++i) {
      const found_rules op = op_facts_table.find(t[i].code);
      n += role_of(i) == role::each && op && op->lengthy;
    }
    return n;
  }();
  static constexpr bool reduces = [] {
    for (int i = 0; i < plan::size; ++i)
      if (folded_here(i)) return true;
    return false;
  }();
  /// A short program has a loop each for contiguous operands, for mixed ones, and for the rest of a strip. One of much
  /// code has one for all: beside its work, the masks of mixed operands cost nothing.
  static constexpr bool short_program = work + 5 * lengthy_values <= 16;
  /// Lengthy ops are inlined where they are few and run for whole registers; elsewhere calling them costs little, and
  /// compiling them again and again much.
  static constexpr bool inlines_lengthy = lengthy_values <= 8;
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
