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
  bool any = false;
  for (int r = 0; r < t_.result_count; ++r) any |= at_.wanted(r) && at_.goes_to_scratch(r);
  if (any && steps_.several_rows_a_warp())
    out.add("const ", steps_.index(), " warp = ", steps_.index(), "(blockIdx.x) * ", p_.threads / 32,
            " + threadIdx.x / 32;");
  for (int r = 0; r < t_.result_count; ++r) {
    if (!at_.wanted(r)) continue;
    if (at_.sum(r) == summed::everything) deliver_share_of_everything(out, r);
    if (at_.sum(r) == summed::across_rows) deliver_share_of_a_row(out, r);
  }
}

KILN_INLINE void row_results::deliver_share_of_everything(lines& out, int r) const {
  if (steps_.several_rows_a_warp()) {
    out.add("y", r, "_sum = across_warp(y", r, "_sum, adding());");
    out.add("if (threadIdx.x % 32 == 0) shares", r, "[warp] = y", r, "_sum;");
    return;
  }
  steps_.fold_all(out, {fold_of_sum(r)});
  out.add("if (lane == 0) shares", r, "[first] = y", r, "_sum;");
}

KILN_INLINE void row_results::deliver_share_of_a_row(lines& out, int r) const {
  const bool several = steps_.several_rows_a_warp();
  steps_.open_held(out);
  if (several) {
    out.add("#pragma unroll");
    out.add("for (int k = 0; k < ", p_.step, "; ++k) y", r, "_sum[h][k] = across_groups<", p_.lanes, ">(y", r,
            "_sum[h][k], adding());");
    out.open("if (threadIdx.x % 32 < ", p_.lanes, ")");
  }
  out.add("store_each(shares", r, " + ", several ? "warp" : "first", " * size", p_.rank - 1, " + i, y", r,
          "_sum[h], at_most<", p_.step, ">(size", p_.rank - 1, " - i));");
  if (several) out.close();
  out.close();
}

}  // namespace kiln::cuda::detail
