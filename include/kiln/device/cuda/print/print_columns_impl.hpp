// SPDX-License-Identifier: BSL-1.0
// The definitions of print_columns.hpp.
#pragma once

#include <kiln/device/cuda/print/print_columns.hpp>

namespace kiln::cuda {

KILN_INLINE source print_columns(const task& job, const plan& p) {
  using namespace detail;
  program merged;
  merge_leaves(job, p, merged);
  const tape_view t = detail::view_of(merged);
  source out;
  statements values(t);
  walk at(job, p, t, values);
  const int row_axis = p.rank - 2;

  // Values per element: what reductions are made of. Per column: what is made of them. Leaves that do not move down the
  // columns may be either.
  const row_facts facts = facts_of(t, p.leaves);
  std::vector<role> above(static_cast<std::size_t>(t.size)), below(above);
  find_roles(t, facts, facts.values.data(), kernel_kind::operands, 0, true, above.data());
  find_roles(t, facts, facts.values.data(), kernel_kind::rows, 0, true, below.data());
  std::vector<int> folds;
  for (int i = 0; i < t.size; ++i)
    if (detail::reduces(t, i)) folds.push_back(i);

  auto loads = [&](lines& to, const std::vector<role>& needed) {
    std::vector<bool> seen(p.leaves.size());
    for (int i = 0; i < t.size; ++i) {
      if (needed[static_cast<std::size_t>(i)] == role::none || t[i].code != opcode::leaf ||
          seen[static_cast<std::size_t>(t[i].slot)])
        continue;
      seen[static_cast<std::size_t>(t[i].slot)] = true;
      const std::string name = walk::leaf_name(t[i].slot);
      if (is_address(t[i])) continue;
      if (at.moves_along(t[i].slot))
        to.add("const auto ", name, "_at = ", at.load_step(t[i].slot), ";");
      else
        to.add("const auto ", name, "_at = value_of(*(", at.begin(name, at.leaf(t[i].slot)), "));");
    }
  };
  auto define = [&](lines& to, statements& in, const std::vector<role>& needed) {
    for (int i = 0; i < t.size; ++i) {
      if (needed[static_cast<std::size_t>(i)] == role::none || detail::reduces(t, i) || !in.at(i).empty()) continue;
      if (t[i].code != opcode::leaf)
        in.define(to, i);
      else if (at.moves_along(t[i].slot) || is_address(t[i]))
        in.define(to, i, at.element(i));
      else
        in.define(to, i, walk::leaf_name(t[i].slot) + "_at");
    }
  };
  statements elements = values, columns = values;
  lines element_body, column_body;
  define(element_body, elements, above);
  for (const int i : folds) columns.at(i) = message("v", i, "_at[k]");
  define(column_body, columns, below);
  const bool faults = elements.faults() || columns.faults();

  signature s(p, out);
  const std::string_view index = s.index();
  at.parameters(s, true);
  s.whole(parameter_kind::tiles, "tiles");
  if (p.cut) {
    s.whole(parameter_kind::parts, "parts");
    s.whole(parameter_kind::part, "part");
    s.whole(parameter_kind::part_stride, "part_stride");
  }
  if (faults) s.fault();
  lines body;
  open_kernel(body, "extern \"C\" __global__ void ", bounds_of(p), " @name(", s.text(), ")");
  if (faults) body.add("uint32 fault = 0;");
  at.define_draws(body);
  body.add("__shared__ uint64 meeting[", 256 * p.step, "];");
  for (const int i : folds) define_fold(body, t, i);
  body.add("const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;");
  body.add("const ", index, " all = ", walk::for_each_outer("tiles", row_axis), p.cut ? " * parts;" : ";");
  body.open("for (", index, " tile = blockIdx.x; tile < all; tile += gridDim.x)");
  body.add(index, " rest = tile / tiles;");
  body.add("const ", index, " i = ((tile - rest * tiles) * 32 + lane) * ", p.step, ";");
  body.add("const int some = at_most<", p.step, ">(size", p.rank - 1, " - i);");
  const std::string rows = message("size", row_axis);
  if (p.cut) {
    body.add("const ", index, " at_part = rest % parts, from = at_part * part, to = from + part < ", rows,
             " ? from + part : ", rows, ";");
    body.add("rest /= parts;");
  } else {
    body.add("const ", index, " from = 0, to = ", rows, ";");
  }
  at.coordinates_of_rest(body, index, row_axis);
  for (const int i : folds) {
    body.add("vec<", value_name(t[i].type), ", ", p.step, "> v", i, "_at;");
    body.add("for (int k = 0; k < ", p.step, "; ++k) v", i, "_at[k] = ", fold_of(t, i).identity, ";");
  }
  body.add("#pragma unroll 4");
  body.open("for (", index, " a", row_axis, " = from + warp; a", row_axis, " < to; a", row_axis, " += 8)");
  loads(body, above);
  body.add("#pragma unroll");
  body.open("for (int k = 0; k < ", p.step, "; ++k)");
  body.add("if (k >= some) continue;");
  body.insert(element_body);
  for (const int i : folds) body.add("v", i, "_at[k] = fold", i, "(v", i, "_at[k], ", elements.at(t[i].a), ");");
  body.close();
  body.close();
  for (const int i : folds) body.add("fold_warps<8>(meeting, v", i, "_at, fold", i, ");");
  body.open("if (warp == 0)");
  body.add("const ", index, " a", row_axis, " = 0;");
  loads(body, below);
  for (int r = 0; r < t.result_count; ++r)
    if (at.wanted(r)) body.add("vec<", at.held_type(r), ", ", p.step, "> y", r, "_at;");
  body.add("#pragma unroll");
  body.open("for (int k = 0; k < ", p.step, "; ++k)");
  body.add("if (k >= some) continue;");
  body.insert(column_body);
  for (int r = 0; r < t.result_count; ++r)
    if (at.wanted(r)) body.add("y", r, "_at[k] = stored_as<", at.held_type(r), ">(", columns.at(t.results[r]), ");");
  body.close();
  for (int r = 0; r < t.result_count; ++r)
    if (at.wanted(r)) at.store_step(body, r, p.cut ? " + at_part * part_stride" : "");
  body.add("(void)a", row_axis, ";");
  body.close();
  body.close();
  if (faults) body.add("if (fault) *fault_flag = fault;");
  body.close();
  finish(out, t, p, body.text(), "reduce");
  return out;
}

}  // namespace kiln::cuda
