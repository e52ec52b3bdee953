// SPDX-License-Identifier: BSL-1.0
// The definitions of row_memory.hpp.
#pragma once

#include <kiln/device/cuda/print/row_memory.hpp>

namespace kiln::cuda::detail {

KILN_INLINE std::vector<role> row_memory::roles_in(int pass) const {
  std::vector<role> roles(static_cast<std::size_t>(t_.size));
  find_roles(t_, facts_, facts_.values.data(), kernel_kind::pass, pass, p_.reduction_rooted, roles.data());
  return roles;
}

KILN_INLINE bool row_memory::any_ahead() const {
  bool any = false;
  at_.each_leaf([&](int slot, dtype) { any |= place_of(slot) == row_place::ahead; });
  return any;
}

KILN_INLINE void row_memory::declare_shared(lines& out) const {
  if (p_.shared_bytes == 0) return;
  out.add("extern __shared__ __align__(16) uint64 row_memory[];");
  std::size_t words = 0;
  at_.each_leaf([&](int slot, dtype type) {
    if (place_of(slot) != row_place::shared && place_of(slot) != row_place::ahead) return;
    out.add("auto* const x", slot, "_kept = reinterpret_cast<vec<", storage_name(type), ", ", p_.step,
            ">*>(row_memory + ", words, ");");
    words += static_cast<std::size_t>(p_.held * p_.threads * p_.step) * size_of(type) / 8;
  });
}

KILN_INLINE void row_memory::declare_kept(lines& out) const {
  for (int i = 0; i < t_.size; ++i) {
    const bool leaf = t_[i].code == opcode::leaf;
    if (leaf ? !loads_first(i) && !(kept(i) && place_of(t_[i].slot) != row_place::shared) : !kept(i)) continue;
    if (leaf)
      out.add("vec<", storage_name(t_[i].type), ", ", p_.step, "> x", t_[i].slot, "_at[", p_.held, "];");
    else
      out.add("vec<", value_name(t_[i].type), ", ", p_.step, "> v", i, "_at[", p_.held, "];");
  }
}

KILN_INLINE void row_memory::copy_row(lines& out, std::string_view row) const {
  if (!any_ahead()) return;
  out.open("if (const ", steps_.index(), " next = ", row, "; next < rows)");
  out.add("const ", steps_.index(), " row = next;");
  at_.coordinates(out, steps_.index());
  lines copies;
  steps_.skip_missing(copies);
  at_.each_leaf([&](int slot, dtype) {
    if (place_of(slot) == row_place::ahead)
      copies.add("copy_ahead(&", kept_at(slot), ", ", at_.begin(walk::leaf_name(slot), at_.leaf(slot)), " + i);");
  });
  steps_.loop(out, copies);
  out.close();
}

KILN_INLINE void row_memory::load_row(lines& out) const {
  lines loads;
  steps_.skip_missing(loads);
  steps_.count_some(loads);
  bool any = false;
  for (int i = 0; i < t_.size; ++i) {
    if (t_[i].code != opcode::leaf || !loads_first(i)) continue;
    const int slot = t_[i].slot;
    any = true;
    loads.add("x", slot, "_at[h] = ", place_of(slot) == row_place::ahead ? kept_at(slot) : at_.load_step(slot), ";");
  }
  if (any) steps_.loop(out, loads);
}

KILN_INLINE void row_memory::forget_step(lines& out, const std::vector<role>& roles, int pass) const {
  if (!few_registers() || pass == 0) return;
  for (int i = 0; i < t_.size; ++i)
    if (roles[static_cast<std::size_t>(i)] != role::none && t_[i].code == opcode::leaf && loads_first(i))
      out.add("forget(x", t_[i].slot, "_at[h]);");
}

KILN_INLINE void row_memory::load(lines& out, const std::vector<role>& roles) const {
  std::vector<bool> seen(p_.leaves.size());
  for (int i = 0; i < t_.size; ++i) {
    const role as = roles[static_cast<std::size_t>(i)];
    if ((as != role::each && as != role::read_back) || t_[i].code != opcode::leaf || is_address(t_[i])) continue;
    const int slot = t_[i].slot;
    if (seen[static_cast<std::size_t>(slot)]) continue;
    seen[static_cast<std::size_t>(slot)] = true;
    if (loads_first(i)) continue;
    const bool first = as == role::each;
    const std::string value = at_.load_step(slot, few_registers() && place_of(slot) == row_place::memory);
    if (!kept(i)) {
      out.add("const auto x", slot, "_at = ", value, ";");
    } else if (place_of(slot) != row_place::shared) {
      if (first) out.add("x", slot, "_at[h] = ", value, ";");
    } else if (first) {
      out.add("const auto x", slot, "_at = ", value, ";");
      out.add(kept_at(slot), " = x", slot, "_at;");
    } else {
      out.add("const auto x", slot, "_at = ", kept_at(slot), ";");
    }
  }
}

KILN_INLINE void row_memory::define_element(lines& out, statements& values, int i, role as) const {
  if (is_address(t_[i])) {
    values.define(out, i, at_.element(i));
  } else if (t_[i].code == opcode::leaf) {
    const bool by_step = loads_first(i) || (kept(i) && place_of(t_[i].slot) != row_place::shared);
    values.define(out, i, message("value_at(x", t_[i].slot, by_step ? "_at[h], k)" : "_at, k)"));
  } else if (as == role::read_back) {
    values.define(out, i, message("v", i, "_at[h][k]"));
  } else {
    values.define(out, i);
    if (kept(i)) out.add("v", i, "_at[h][k] = v", i, ";");
  }
}

}  // namespace kiln::cuda::detail
