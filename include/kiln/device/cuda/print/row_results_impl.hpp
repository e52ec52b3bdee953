// SPDX-License-Identifier: BSL-1.0
// The definitions of row_results.hpp.
#pragma once

#include <kiln/device/cuda/print/row_results.hpp>

namespace kiln::cuda::detail {

KILN_INLINE void row_results::declare_shares(lines& out) const {
  for (int r = 0; r < t_.result_count; ++r) {
    if (!at_.wanted(r)) continue;
    if (at_.sum(r) == summed::across_rows)
      out.add("vec<", computed(r), ", ", p_.step, "> y", r, "_sum[", p_.held, "] = {};");
    else if (at_.sum(r) == summed::everything)
      out.add(computed(r), " y", r, "_sum = 0;");
  }
}

KILN_INLINE void row_results::declare_row_sums(lines& out) const {
  for (int r = 0; r < t_.result_count; ++r)
    if (at_.wanted(r) && at_.sum(r) == summed::along_row) out.add(computed(r), " y", r, "_sum = 0;");
}

KILN_INLINE void row_results::declare_step(lines& out) const {
  for (int r = 0; r < t_.result_count; ++r)
    if (of_elements(r)) out.add("vec<", at_.held_type(r), ", ", p_.step, "> y", r, "_at;");
}

KILN_INLINE void row_results::put_element(lines& out, statements& values) const {
  for (int r = 0; r < t_.result_count; ++r) {
    if (!at_.wanted(r)) continue;
    const std::string value =
        message("stored_as<", of_elements(r) ? at_.held_type(r) : computed(r), ">(", values.at(t_.results[r]), ")");
    if (of_elements(r))
      out.add("y", r, "_at[k] = ", value, ";");
    else
      out.add("y", r, at_.sum(r) == summed::across_rows ? "_sum[h][k] += " : "_sum += ", value, ";");
  }
}

KILN_INLINE void row_results::store_step(lines& out) const {
  for (int r = 0; r < t_.result_count; ++r)
    if (of_elements(r)) at_.store_step(out, r);
}

KILN_INLINE void row_results::deliver_rows(lines& out, statements& values) const {
  out.open("if (lane == 0)");
  for (int r = 0; r < t_.result_count; ++r)
    if (at_.wanted(r)) at_.store_one(out, r, values.at(t_.results[r]));
  out.close();
}

KILN_INLINE void row_results::deliver_row_sums(lines& out) const {
  for (int r = 0; r < t_.result_count; ++r) {
    if (!at_.wanted(r) || at_.sum(r) != summed::along_row) continue;
    steps_.fold_all(out, {fold_of_sum(r)});
    out.open("if (lane == 0)");
    at_.store_one(out, r, message("y", r, "_sum"));
    out.close();
  }
}

KILN_INLINE void row_results::deliver_shares(lines& out) const {
  std::vector<std::string_view> types;  // of what warps add up over shared memory
  for (int r = 0; r < t_.result_count; ++r)
    if (steps_.by_warps() && at_.wanted(r) && at_.sum(r) == summed::across_rows &&
        std::find(types.begin(), types.end(), computed(r)) == types.end())
      types.push_back(computed(r));
  for (const std::string_view type : types)
    out.add("__shared__ vec<", type, ", ", p_.step, "> left_", type, "[", p_.threads / 32 * p_.lanes, "];");
  for (int r = 0; r < t_.result_count; ++r) {
    if (!at_.wanted(r)) continue;
    if (at_.sum(r) == summed::everything) deliver_share_of_everything(out, r);
    if (at_.sum(r) == summed::across_rows) deliver_share_of_a_row(out, r);
  }
}

KILN_INLINE void row_results::deliver_share_of_everything(lines& out, int r) const {
  steps_.fold_everyone(out, {fold_of_sum(r)});
  out.add("if (", steps_.by_warps() ? "threadIdx.x" : "lane", " == 0) shares", r, "[", holder(), "] = y", r, "_sum;");
}

KILN_INLINE void row_results::deliver_share_of_a_row(lines& out, int r) const {
  const std::string size = message("size", p_.rank - 1), row = message("shares", r, " + ", holder(), " * ", size);
  lines store;
  if (steps_.several_rows_a_warp()) {
    store.add("#pragma unroll");
    store.add("for (int k = 0; k < ", p_.step, "; ++k) y", r, "_sum[h][k] = across_groups<", p_.lanes, ">(y", r,
              "_sum[h][k], adding());");
  }
  if (steps_.by_warps())
    store.add("store_sum_of_warps<", p_.threads / 32, ", ", p_.lanes, ">(left_", computed(r), ", y", r, "_sum[h], ",
              row, " + h * ", p_.lanes * p_.step, ", ", size, " - h * ", p_.lanes * p_.step, ");");
  else
    store.add("store_each(", row, " + i, y", r, "_sum[h], at_most<", p_.step, ">(", size, " - i));");
  steps_.loop(out, store);
}

}  // namespace kiln::cuda::detail
