// SPDX-License-Identifier: BSL-1.0
// The definitions of print_transpose.hpp.
#pragma once

#include <kiln/device/cuda/print/print_transpose.hpp>

namespace kiln::cuda {

KILN_INLINE source print_transpose(const task& job, const plan& p) {
  using namespace detail;
  program merged;
  merge_leaves(job, p, merged);
  const tape_view t = detail::view_of(merged);
  source out;
  statements values(t);
  walk at(job, p, t, values);
  const int slow = p.rank - 2, fast = p.rank - 1;
  const std::vector<bool> fixed = fixed_values(t, p);
  auto place = [&](const std::string& name, const operand_plan& x) {
    std::string code = at.begin(name, x);
    if (x.how >= access::strided) return message(code, " + i * ", name, "_s", fast);
    return x.how >= access::vectors ? code + " + i" : code;
  };
  lines before, inside;
  for (int i = 0; i < t.size; ++i) {
    if (!values.at(i).empty()) continue;
    lines& to = fixed[static_cast<std::size_t>(i)] ? before : inside;
    if (t[i].code != opcode::leaf) {
      values.define(to, i);
      continue;
    }
    const std::string name = walk::leaf_name(t[i].slot);
    const bool turned = at.leaf(t[i].slot).how == access::turned;
    values.define(to, i,
                  turned ? message("value_of(", name, "_tile[lane][warp + m])")
                         : message("value_of(*(", place(name, at.leaf(t[i].slot)), "))"));
  }
  for (int r = 0; r < t.result_count; ++r) {
    if (!at.wanted(r)) continue;
    const std::string to = "*(" + place(message("y", r), at.result(r)) + ")";
    const std::string_view type = storage_name(p.stores[static_cast<std::size_t>(r)]);
    if (p.adds[static_cast<std::size_t>(r)])
      inside.add(to, " = stored_as<", type, ">(value_of(", to, ") + stored_as<", at.held_type(r), ">(",
                 values.at(t.results[r]), "));");
    else
      inside.add(to, " = stored_as<", type, ">(", values.at(t.results[r]), ");");
  }

  signature s(p, out);
  at.parameters(s, true);
  if (values.faults()) s.fault();
  const std::string_view index = s.index();
  lines body;
  body.open("extern \"C\" __global__ void __launch_bounds__(", p.threads, ") @name(", s.text(), ")");
  if (values.faults()) body.add("uint32 fault = 0;");
  at.each_leaf([&](int slot, dtype type) {
    if (at.leaf(slot).how == access::turned)
      body.add("__shared__ ", storage_name(type), " x", slot, "_tile[", tile_size, "][", tile_size + 1, "];");
  });
  at.define_draws(body);
  body.insert(before);
  body.add("const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;");
  body.add("const ", index, " across = (size", fast, " + ", tile_size - 1, ") / ", tile_size, ", down = (size", slow,
           " + ", tile_size - 1, ") / ", tile_size, ";");
  std::string all = "across * down";
  for (int d = 0; d < slow; ++d) all += message(" * size", d);
  body.add("const ", index, " all = ", all, ";");
  body.open("for (", index, " tile = blockIdx.x; tile < all; tile += gridDim.x)");
  body.add(index, " rest = tile / across;");
  body.add("const ", index, " left = (tile - rest * across) * ", tile_size, ", top = rest % down * ", tile_size, ";");
  body.add("rest /= down;");
  for (int d = slow - 1; d >= 0; --d) {
    body.add("const ", index, " a", d, " = ", d == 0 ? "rest" : message("rest % size", d), ";");
    if (d > 0) body.add("rest /= size", d, ";");
  }
  body.add("#pragma unroll");
  body.open("for (int m = 0; m < ", tile_size, "; m += 8)");
  body.add("const ", index, " a", slow, " = top + lane, i = left + warp + m;");
  body.open("if (a", slow, " < size", slow, " && i < size", fast, ")");
  at.each_leaf([&](int slot, dtype) {
    const std::string name = walk::leaf_name(slot);
    if (at.leaf(slot).how == access::turned)
      body.add(name, "_tile[warp + m][lane] = *(", place(name, at.leaf(slot)), ");");
  });
  body.close();
  body.close();
  body.add("__syncthreads();");
  body.add("#pragma unroll");
  body.open("for (int m = 0; m < ", tile_size, "; m += 8)");
  body.add("const ", index, " a", slow, " = top + warp + m, i = left + lane;");
  body.add("if (a", slow, " >= size", slow, " || i >= size", fast, ") continue;");
  body.insert(inside);
  body.close();
  body.add("__syncthreads();");
  body.close();
  if (values.faults()) body.add("if (fault) *fault_flag = fault;");
  body.close();
  finish(out, t, p, body.text(), "map");
  return out;
}

}  // namespace kiln::cuda
