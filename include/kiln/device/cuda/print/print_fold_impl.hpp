// SPDX-License-Identifier: BSL-1.0
// The definitions of print_fold.hpp.
#pragma once

#include <kiln/device/cuda/print/print_fold.hpp>

namespace kiln::cuda::detail {

KILN_INLINE fold fold_of(const tape_view& t, int i) {
  return {message("v", i), message("fold", i), literal(t[i].type, spelling_of(t[i].code).identity(t[i].type))};
}

KILN_INLINE void define_fold(lines& out, const tape_view& t, int i) {
  const std::string_view type = value_name(t[i].type);
  out.add("const auto fold", i, " = [](", type, " a, ", type, " b) { return ", type, "(",
          spelling_of(t[i].code).combine(t[i].type, "a", "b"), "); };");
}

KILN_INLINE void begin_fold(lines& out, const tape_view& t, int i) {
  out.add(value_name(t[i].type), " v", i, " = ", fold_of(t, i).identity, ";");
}

KILN_INLINE void fold_block(lines& out, const std::vector<fold>& folds, int& place, int cluster) {
  const int first = place, words = 32 * cluster;
  const std::string of = cluster > 1 ? message("_in_cluster<", cluster, ">") : std::string();
  for (const fold& f : folds) out.add("leave", of, "(meeting + ", words * place++, ", ", f.name, ", ", f.how, ");");
  out.add(cluster > 1 ? "meet_cluster();" : "__syncthreads();");
  place = first;
  for (const fold& f : folds)
    out.add(f.name, " = collect", of, "(meeting + ", words * place++, ", ", f.identity, ", ", f.how, ");");
}

}  // namespace kiln::cuda::detail
