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

/// The values of a kernel in lists by what is done with them, each list in order.
enum class value_list : std::uint8_t { once, each, held, leaves, reduced, folded };
inline constexpr int value_lists = 6;
template <int Size>
struct listed_values {
  int count[value_lists] = {};
  std::int16_t at[value_lists][static_cast<std::size_t>(Size) + 1] = {};
  constexpr void add(value_list list, int i) {
    const int l = static_cast<int>(list);
    at[l][count[l]++] = static_cast<std::int16_t>(i);
  }
};

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
  static constexpr bool joins(int i) { return i >= 0 && role_of(i) == role::joined; }
  static constexpr int reduction_of(int i) { return plan::value(i).reduction; }
  static constexpr bool reduced_here(int i) {
    return reduction_of(i) >= 0 && (Kind == kernel_kind::pass || Kind == kernel_kind::operands) &&
           plan::value(i).phase == Pass + 1;
  }
  static constexpr bool keeps(int i) {
    return Kind == kernel_kind::pass && plan::value(i).kept == Pass && role_of(i) == role::each;
  }

  // In one go over the values: asked one by one, each question costs the compiler as much as a line of code.
  struct all_lists : detail::listed_values<plan::size> {
    int work = 0, lengthy_values = 0;
  };
  static constexpr all_lists lists = [] {
    using detail::value_list;
    all_lists found;
    const role* const as = roles.data();
    const value_facts* const known = plan::facts.values.data();
    for (int i = 0; i < plan::size; ++i) {
      const bool once = as[i] == role::once, each = as[i] == role::each || as[i] == role::read_back;
      if (once) found.add(value_list::once, i);
      if (each) found.add(value_list::each, i), ++found.work;
      if (once || each) found.add(value_list::held, i);
      if (as[i] == role::each) {
        const instruction& now = t[i];
        if (now.code == opcode::leaf) found.add(value_list::leaves, i);
        const found_rules op = op_facts_table.find(now.code);
        found.lengthy_values += op && op->lengthy;
      }
      if ((Kind == kernel_kind::pass || Kind == kernel_kind::operands) && known[i].reduction >= 0 &&
          known[i].phase == Pass + 1) {
        found.add(value_list::reduced, i);
        if (Kind == kernel_kind::pass) found.add(value_list::folded, i);
      }
    }
    return found;
  }();
  template <detail::value_list List, std::size_t... K>
  static std::integer_sequence<int, lists.at[static_cast<int>(List)][K]...> sequence(std::index_sequence<K...>);
  /// The numbers of a list, as a type.
  template <detail::value_list List>
  using numbers = decltype(sequence<List>(
      std::make_index_sequence<static_cast<std::size_t>(lists.count[static_cast<int>(List)])>{}));

  static constexpr int work = lists.work;
  static constexpr int lengthy_values = lists.lengthy_values;
  static constexpr bool reduces = lists.count[static_cast<int>(detail::value_list::folded)] > 0;
  /// A short program has a loop each for contiguous operands, for mixed ones, and for the rest of a strip. One of much
  /// code has one for all: beside its work, the masks of mixed operands cost nothing.
  static constexpr bool short_program = work + 5 * lengthy_values <= 16;
  /// Lengthy ops are inlined where they are few and run for whole registers; elsewhere calling them costs little, and
  /// compiling them again and again much.
  static constexpr bool inlines_lengthy = lengthy_values <= 8;
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
