// SPDX-License-Identifier: BSL-1.0
// Where a thread has its part of a row between passes, as text: in registers, in shared memory, where the next row may
// be copied ahead. What it puts in shared memory it reads there itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/specialise_rows.hpp>
#include <kiln/device/cuda/print/print_map.hpp>
#include <kiln/device/cuda/print/row_steps.hpp>

namespace kiln::cuda::detail {

class row_memory {
 public:
  row_memory(const plan& p, const tape_view& t, const walk& at, const row_steps& steps)
      : p_(p), t_(t), at_(at), steps_(steps), facts_(facts_of(t, p.leaves)) {
    // In registers: leaves and expensive values stay from the pass that has them first.
    if (p.held > 0)
      find_kept(t, facts_, p.reduction_rooted, facts_.values.data(), [&](int i) {
        if (t[i].code != opcode::leaf) return is_expensive(t, i) && !p.recompute;
        return !is_address(t[i]) && place_of(t[i].slot) != row_place::memory;
      });
  }

  const value_facts& facts(int i) const { return facts_.values[static_cast<std::size_t>(i)]; }
  int last_phase() const { return facts_.last_phase; }
  int passes() const { return facts_.row_passes(p_.reduction_rooted); }
  std::vector<role> roles_in(int pass) const;
  bool any_ahead() const;

  /// The shared memory of a kernel, and the registers of a row.
  void declare_shared(lines& out) const;
  void declare_kept(lines& out) const;
  /// Copies row `row` to where the next round of the loop takes it from.
  void copy_row(lines& out, std::string_view row) const;
  /// Loads a row's part of the leaves that registers hold, all of it before any of it is used: a load then waits for
  /// no other.
  void load_row(lines& out) const;
  /// Where registers are few: a later pass computes again what it needs of what load_row loaded.
  void forget_step(lines& out, const std::vector<role>& roles, int pass) const;
  /// The other leaves that a step of a pass needs, wherever it has them from; those that are kept go to where they
  /// stay.
  void load(lines& out, const std::vector<role>& roles) const;
  /// The value of instruction i for element k of a step.
  void define_element(lines& out, statements& values, int i, role as) const;

 private:
  bool kept(int i) const { return facts(i).kept >= 0; }
  // Sums take registers from one row to the next, and of 1024 threads each has 64.
  bool few_registers() const { return p_.held > 0 && (p_.least_blocks > 0 || p_.threads == 1024); }
  row_place place_of(int slot) const { return at_.leaf(slot).kept; }
  // Whether load_row loads the leaf at i. What is drawn is no memory to wait for.
  bool loads_first(int i) const {
    return p_.held > 0 && facts(i).at == level::element && !is_address(t_[i]) && !is_drawn(kind_of(t_[i])) &&
           (place_of(t_[i].slot) == row_place::registers || place_of(t_[i].slot) == row_place::ahead);
  }
  std::string kept_at(int slot) const { return message("x", slot, "_kept[h * ", p_.threads, " + threadIdx.x]"); }

  const plan& p_;
  const tape_view& t_;
  const walk& at_;
  const row_steps& steps_;
  row_facts facts_;
};

}  // namespace kiln::cuda::detail

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/row_memory_impl.hpp>
#endif
