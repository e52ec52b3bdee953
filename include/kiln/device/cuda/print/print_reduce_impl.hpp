// SPDX-License-Identifier: BSL-1.0
// The definitions of print_reduce.hpp.
#pragma once

#include <kiln/device/cuda/print/print_reduce.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE void reduce_steps(lines& out, const walk& at, const plan& p, std::string_view index, const lines& inside) {
  const auto elements = [&](bool whole) {
    out.add("#pragma unroll");
    out.open("for (int k = 0; k < ", p.step, "; ++k)");
    if (!whole) out.add("if (k >= some) continue;");
    out.insert(inside);
    out.close();
  };
  out.add("const ", index, " all = ", at.all_steps(), ", threads = all_threads<", index, ">();");
  out.add(index, " at = first_thread<", index, ">();");
  if (p.at_once > 1) {
    // Whole steps, loaded before the first of them is looked at.
    const std::string whole = p.rank == 1 ? message("size0 / ", p.step) : "all";
    out.open("for (; at + ", p.at_once - 1, " * threads < ", whole, "; at += ", p.at_once, " * threads)");
    at.declare_batch(out, p.at_once);
    out.add("#pragma unroll");
    out.open("for (int u = 0; u < ", p.at_once, "; ++u)");
    at.place_step(out, index, "at + u * threads");
    at.load_batch(out);
    out.close();
    out.add("#pragma unroll");
    out.open("for (int u = 0; u < ", p.at_once, "; ++u)");
    at.open_batch(out);
    elements(true);
    out.close();
    out.close();
  }
  out.open("for (; at < all; at += threads)");
  at.place_step(out, index, "at");
  if (!p.even) out.add("const int some = at_most<", p.step, ">(size", p.rank - 1, " - i);");
  at.load_rows(out);
  at.load_steps(out);
  elements(p.even);
  out.close();
}

}  // namespace detail

KILN_INLINE source print_reduce(const task& job, const plan& p) {
  using namespace detail;
  program merged;
  merge_leaves(job, p, merged);
  const tape_view t = detail::view_of(merged);
  source out;
  statements values(t);
  walk at(job, p, t, values);
  const std::vector<bool> fixed = fixed_values(t, p);
  signature s(p, out);
  at.parameters(s);
  s.shares();
  s.finished();
  // What a thread knows before its steps, what it does with each element, and what follows from the reductions.
  lines before, inside, after;
  std::vector<int> folds;
  const std::vector<std::int16_t> phases = phases_of(t);
  for (int i = 0; i < t.size; ++i) {
    if (detail::reduces(t, i)) {
      folds.push_back(i);
      inside.add("v", i, " = fold", i, "(v", i, ", ", values.at(t[i].a), ");");
      values.at(i) = message("v", i);
      continue;
    }
    if (!values.at(i).empty()) continue;
    if (phases[static_cast<std::size_t>(i)] > 0)
      values.define(after, i);
    else if (!fixed[static_cast<std::size_t>(i)])
      t[i].code == opcode::leaf ? values.define(inside, i, at.element(i)) : values.define(inside, i);
    else if (t[i].code == opcode::leaf)
      values.define(before, i, is_address(t[i]) ? message("*x", t[i].slot) : message("value_of(*x", t[i].slot, ")"));
    else
      values.define(before, i);
  }
  if (values.faults()) s.fault();
  lines body;
  open_kernel(body, "extern \"C\" __global__ void __launch_bounds__(", p.threads, ") @name(", s.text(), ")");
  if (values.faults()) body.add("uint32 fault = 0;");
  body.add("__shared__ uint64 meeting[", 64 * folds.size(), "];");
  for (const int i : folds) define_fold(body, t, i);
  at.define_draws(body);
  body.insert(before);
  std::vector<fold> joined;
  for (const int i : folds) {
    begin_fold(body, t, i);
    joined.push_back(fold_of(t, i));
  }
  reduce_steps(body, at, p, s.index(), inside);
  int place = 0;
  const auto share = [&](std::size_t k) {
    return k == 0 ? std::string("shares") : message("shares + ", k, " * gridDim.x");
  };
  fold_block(body, joined, place);
  for (std::size_t k = 0; k < joined.size(); ++k) body.add("leave_share(", share(k), ", ", joined[k].name, ");");
  if (values.faults()) body.add("if (fault) *fault_flag = fault;");
  body.add("if (!ends_last(finished)) return;");
  for (std::size_t k = 0; k < joined.size(); ++k)
    body.add(joined[k].name, " = collect_shares(", share(k), ", ", joined[k].identity, ", ", joined[k].how, ");");
  fold_block(body, joined, place);
  body.open("if (threadIdx.x == 0)");
  body.insert(after);
  for (int r = 0; r < t.result_count; ++r)
    if (at.wanted(r)) at.store_one(body, r, values.at(t.results[r]));
  if (values.faults()) body.add("if (fault) *fault_flag = fault;");
  body.close();
  body.close();
  finish(out, t, p, body.text(), "reduce");
  return out;
}

}  // namespace kiln::cuda
