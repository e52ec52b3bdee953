// SPDX-License-Identifier: BSL-1.0
// From a tape to the plan of a program: what the drivers ask of it, and its kernels.
#pragma once

#include <algorithm>

#include <kiln/core/error.hpp>
#include <kiln/device/cpu/interpreter/kernel_planner.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {
namespace interpreter {

namespace detail {

inline const program_plan& plan_of(const strip& s) {
  return *static_cast<const program_plan*>(s.program->plan);
}
inline void run_map_kernel(const strip& s) {
  run_kernel(plan_of(s).map, s);
}
inline void run_pass_kernel(const strip& s) {
  run_kernel(plan_of(s).passes[static_cast<std::size_t>(s.pass)], s);
}
inline void run_rows_kernel(const strip& s) {
  run_kernel(plan_of(s).rows, s);
}
inline void run_operands_kernel(const strip& s) {
  run_kernel(plan_of(s).operands, s);
}

}  // namespace detail

KILN_INLINE void make_plan(program_plan& plan, const tape_view& tape, const dtype* stores, bool reduction_rooted) {
  plan.code.assign(tape.code, tape.code + tape.size);
  plan.results.assign(tape.results, tape.results + tape.result_count);
  plan.stores.assign(stores, stores + tape.result_count);
  compiled& c = plan.program;
  c.tape = {plan.code.data(), tape.size, plan.results.data(), tape.result_count};
  const tape_view& t = c.tape;
  c.results = t.result_count;
  c.reduction_rooted = reduction_rooted;
  c.cost = work_of(t, op_facts_table);
  c.plan = &plan;

  std::vector<value_facts> values(static_cast<std::size_t>(t.size));
  const tape_facts facts = find_facts(t, op_facts_table, values.data());
  find_kept(t, facts, op_facts_table, reduction_rooted, values.data());
  c.reductions = facts.reductions;
  c.passes = facts.passes(reduction_rooted);

  std::size_t constants = 0;
  for (int i = 0; i < t.size; ++i) {
    const instruction& now = t[i];
    const value_facts& v = values[static_cast<std::size_t>(i)];
    constants += now.code == opcode::constant;
    if (v.kept >= 0) plan.kept_types.push_back(kiln::compute_type(now.type));
    if (v.reduction >= 0) {
      reduction_facts f = facts_of_reduction(now.code, now.type);
      f.pass = v.phase - 1;
      f.has_identity |= now.slot == folds_nothing;
      const instruction& x = t[now.a];
      f.operand_slot = x.code == opcode::leaf && x.type == f.type ? x.slot : -1;
      plan.reduced.push_back(f);
    }
    if (now.code != opcode::leaf) continue;
    c.slots = std::max(c.slots, now.slot + 1);
    const leaf_kind kind = kind_of(now);
    if (is_drawn(kind))
      plan.draws.push_back({now.slot, t[now.a].slot, t[now.b].slot, size_of(now.type), draws_of(kind, now.type)});
  }
  if (c.slots > max_slots || c.reductions > max_slots || plan.kept_types.size() > max_slots)
    throw value_error(
        "an expression holds too many tensors or reductions for one kernel: evaluate a part of it into a "
        "Tensor first");
  c.kept = static_cast<int>(plan.kept_types.size());
  c.draw_count = static_cast<int>(plan.draws.size());
  c.draws = plan.draws.data();
  c.stores = plan.stores.data();
  c.reduced = plan.reduced.data();
  c.kept_types = plan.kept_types.data();

  // Constants are pointed to: none of them may move. Every kernel has its own.
  plan.constants.reserve(constants * static_cast<std::size_t>(c.passes + 3));
  auto kernel = [&](kernel_kind kind, int pass) {
    return detail::kernel_planner(plan, values.data(), facts, kind, pass).make();
  };
  if (c.reductions == 0) {
    plan.map = kernel(kernel_kind::map, 0);
    c.map = &detail::run_map_kernel;
    return;
  }
  c.pass_length = 16384;
  for (int p = 0; p < c.passes; ++p) plan.passes.push_back(kernel(kernel_kind::pass, p));
  plan.pass_kernels.assign(plan.passes.size(), pass_kernel{&detail::run_pass_kernel});
  c.pass = plan.pass_kernels.data();
  if (!reduction_rooted) return;
  plan.rows = kernel(kernel_kind::rows, 0);
  c.rows = &detail::run_rows_kernel;
  if (facts.last_phase != 1) return;
  plan.operands = kernel(kernel_kind::operands, 0);
  c.operands = &detail::run_operands_kernel;
}

}  // namespace interpreter
}  // namespace kiln::cpu::inline KILN_VERSION_ISA
