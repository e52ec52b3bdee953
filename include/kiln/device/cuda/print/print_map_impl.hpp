// SPDX-License-Identifier: BSL-1.0
// The definitions of print_map.hpp.
#pragma once

#include <kiln/device/cuda/print/print_map.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE std::vector<bool> fixed_values(const tape_view& t, const plan& p) {
  std::vector<bool> fixed(static_cast<std::size_t>(t.size));
  for (int i = 0; i < t.size; ++i) {
    const instruction& now = t[i];
    auto is = [&](std::int16_t k) { return k < 0 || fixed[static_cast<std::size_t>(k)]; };
    fixed[static_cast<std::size_t>(i)] = now.code == opcode::leaf
                                             ? p.leaves[static_cast<std::size_t>(now.slot)].how == access::one
                                             : is(now.a) && is(now.b) && is(now.c);
  }
  return fixed;
}

KILN_INLINE map_lines map_steps(const tape_view& t, const plan& p, statements& values, walk& at) {
  map_lines map;
  const std::vector<bool> fixed = fixed_values(t, p), moving = moving_values(t, p);
  for (int i = 0; i < t.size; ++i)
    if (fixed[static_cast<std::size_t>(i)] && values.at(i).empty()) {
      if (t[i].code == opcode::leaf)
        values.define(map.before, i,
                      is_address(t[i]) ? message("*x", t[i].slot) : message("value_of(*x", t[i].slot, ")"));
      else
        values.define(map.before, i);
    }
  for (int i = 0; i < t.size; ++i) {
    if (fixed[static_cast<std::size_t>(i)]) continue;
    lines& to = moving[static_cast<std::size_t>(i)] ? map.inside : map.of_step;
    if (t[i].code == opcode::leaf) {
      values.define(to, i, at.element(i));
    } else if (takes_neighbours(t, p, moving, i)) {
      const int slot = t[t[i].b].slot;
      if (p.at_once > 1) {
        map.of_step.add("vec<", storage_name(t[t[i].b].type), ", ", p.step, "> v", i, "_all[", p.at_once, "];");
        map.of_step.add("take_steps(v", i, "_all, ", values.at(t[i].a), ", ", at.address(slot, "", "begin"),
                        ", apart, size", p.rank - 1, " - begin);");
        values.define(map.inside, i, message("value_at(v", i, "_all[u], k)"));
      } else {
        map.of_step.add("const auto v", i, "_at = taken_together<", p.step, ">(", values.at(t[i].a), ", ",
                        at.address(slot, ""), ", some);");
        values.define(map.inside, i, message("value_at(v", i, "_at, k)"));
      }
    } else {
      values.define(to, i);
    }
  }
  at.put_results(map.inside);
  return map;
}

KILN_INLINE void add_step(lines& out, const map_lines& map, const plan& p, const walk& at, bool faults) {
  at.load_rows(out);
  if (p.at_once == 1) at.load_steps(out);
  out.insert(map.of_step);
  if (p.at_once > 1) {
    at.open_steps(out);
    at.load_steps(out);
  }
  at.declare_results(out);
  out.add("#pragma unroll");
  out.open("for (int k = 0; k < ", p.step, "; ++k)");
  // What lies beyond the end may divide by zero: it must not be looked at.
  if (faults) out.add("if (k >= some) continue;");
  out.insert(map.inside);
  out.close();
  at.store_steps(out);
  if (p.at_once > 1) out.close();
}

}  // namespace detail

KILN_INLINE source print_map(const task& job, const plan& p) {
  using namespace detail;
  program merged;
  merge_leaves(job, p, merged);
  const tape_view t = detail::view_of(merged);
  source out;
  statements values(t);
  walk at(job, p, t, values);
  const map_lines map = map_steps(t, p, values, at);

  signature s(p, out);
  at.parameters(s);
  if (values.faults()) s.fault();
  const std::string_view index = s.index();
  lines body;
  open_kernel(body, "extern \"C\" __global__ void __launch_bounds__(", p.threads, ") @name(", s.text(), ")");
  if (values.faults()) body.add("uint32 fault = 0;");
  at.define_draws(body);
  body.insert(map.before);
  body.add("const ", index, " all = ", at.all_steps(), ";");
  body.open("for (", index, " at = first_thread<", index, ">(); at < all; at += all_threads<", index, ">())");
  at.place_step(body, index, "at");
  if (p.at_once == 1) body.add("const int some = at_most<", p.step, ">(size", p.rank - 1, " - i);");
  add_step(body, map, p, at, values.faults());
  body.close();
  if (values.faults()) body.add("if (fault) *fault_flag = fault;");
  body.close();
  finish(out, t, p, body.text(), "map");
  return out;
}

}  // namespace kiln::cuda
