// SPDX-License-Identifier: BSL-1.0
// The definitions of print_reduce.hpp.
#pragma once

#include <kiln/device/cuda/print/print_reduce.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE void define_fold(lines& out, const tape_view& t, int i) {
  const std::string_view type = value_name(t[i].type);
  out.add("const auto fold", i, " = [](", type, " a, ", type, " b) { return ", type, "(",
          spelling_of(t[i].code).combine(t[i].type, "a", "b"), "); };");
}

KILN_INLINE std::string identity_of(const tape_view& t, int i) {
  return literal(t[i].type, spelling_of(t[i].code).identity(t[i].type));
}

KILN_INLINE void open_steps(lines& out, const walk& at, const plan& p, std::string_view index) {
  if (p.rank == 1) {
    out.add("const ", index, " all = (size0 + ", p.step - 1, ") / ", p.step, ";");
  } else {
    std::string all = "steps";
    for (int d = 0; d + 1 < p.rank; ++d) all += message(" * size", d);
    out.add("const ", index, " all = ", all, ";");
  }
  out.open("for (", index, " at = first_thread<", index, ">(); at < all; at += all_threads<", index, ">())");
  if (p.rank == 1) {
    out.add("const ", index, " i = at * ", p.step, ";");
  } else {
    out.add("const ", index, " row = divided(at, by_steps), i = (at - row * steps) * ", p.step, ";");
    at.coordinates(out, index);
  }
  out.add("const int some = at_most<", p.step, ">(size", p.rank - 1, " - i);");
}

}  // namespace detail

}  // namespace kiln::cuda

namespace kiln::cuda {

KILN_INLINE source print_reduce(const task& job, const plan& p) {
  using namespace detail;
  program merged;
  merge_leaves(job, p, merged);
  const tape_view t = detail::view_of(merged);
  source out;
  statements values(t);
  walk at(job, p, t, values);
  std::vector<bool> fixed = fixed_values(t, p);
  signature s(p, out);
  at.parameters(s);
  lines before, inside, after;
  std::vector<int> folds;
  for (int i = 0; i < t.size; ++i) {
    if (detail::reduces(t, i)) {
      folds.push_back(i);
    } else if (fixed[static_cast<std::size_t>(i)]) {
      if (!values.at(i).empty()) continue;
      if (t[i].code == opcode::leaf)
        values.define(before, i, is_address(t[i]) ? message("*x", t[i].slot) : message("value_of(*x", t[i].slot, ")"));
      else
        values.define(before, i);
    } else if (t[i].code == opcode::leaf) {
      values.define(inside, i, at.element(i));
    } else {
      values.define(inside, i);
    }
  }
  if (values.faults()) s.fault();
  lines body;
  body.open("extern \"C\" __global__ void __launch_bounds__(", p.threads, ") @name(", s.text(), ")");
  if (values.faults()) body.add("uint32 fault = 0;");
  body.add("__shared__ uint64 meeting[", 32 * folds.size(), "];");
  for (const int i : folds) define_fold(body, t, i);
  at.define_draws(body);
  body.insert(before);
  for (const int i : folds) body.add(value_name(t[i].type), " v", i, " = ", identity_of(t, i), ";");
  open_steps(body, at, p, s.index());
  at.load_steps(body);
  body.add("#pragma unroll");
  body.open("for (int k = 0; k < ", p.step, "; ++k)");
  body.add("if (k >= some) continue;");
  body.insert(inside);
  for (const int i : folds) body.add("v", i, " = fold", i, "(v", i, ", ", values.at(t[i].a), ");");
  body.close();
  body.close();
  for (std::size_t k = 0; k < folds.size(); ++k)
    body.add("leave(meeting + ", 32 * k, ", v", folds[k], ", fold", folds[k], ");");
  body.add("__syncthreads();");
  for (std::size_t k = 0; k < folds.size(); ++k)
    body.add("v", folds[k], " = collect(meeting + ", 32 * k, ", ", identity_of(t, folds[k]), ", fold", folds[k], ");");
  body.open("if (threadIdx.x == 0)");
  for (int r = 0; r < t.result_count; ++r)
    if (at.wanted(r)) body.add("y", r, "[blockIdx.x] = v", t.results[r], ";");
  body.close();
  if (values.faults()) body.add("if (fault) *fault_flag = fault;");
  body.close();
  finish(out, t, p, body.text(), "reduce");
  return out;
}

}  // namespace kiln::cuda
