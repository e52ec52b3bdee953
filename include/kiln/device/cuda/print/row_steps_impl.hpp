// SPDX-License-Identifier: BSL-1.0
// The definitions of row_steps.hpp.
#pragma once

#include <kiln/device/cuda/print/row_steps.hpp>

namespace kiln::cuda::detail {

KILN_INLINE void row_steps::define_lanes(lines& out) const {
  if (by_warps()) {
    out.add("const int lane = threadIdx.x % ", p_.lanes, ";");
    out.add("const ", index_, " first = ", index_, "(blockIdx.x) * ", p_.threads / p_.lanes, " + threadIdx.x / ",
            p_.lanes, ", all = ", index_, "(gridDim.x) * ", p_.threads / p_.lanes, ";");
  } else if (p_.cluster > 1) {
    out.add("const int lane = blockIdx.x % ", p_.cluster, " * ", p_.threads, " + threadIdx.x;");
    out.add("const ", index_, " first = blockIdx.x / ", p_.cluster, ", all = gridDim.x / ", p_.cluster, ";");
  } else {
    out.add("const int lane = threadIdx.x;");
    out.add("const ", index_, " first = blockIdx.x, all = gridDim.x;");
  }
}

KILN_INLINE void row_steps::loop(lines& out, const lines& inside) const {
  if (held()) {
    out.add("#pragma unroll");
    out.open("for (int h = 0; h < ", p_.held, "; ++h)");
    if (inside.mentions("i")) out.add("const ", index_, " i = (h * ", group(), " + lane) * ", p_.step, ";");
  } else {
    out.open("for (", index_, " i = lane * ", p_.step, "; i < size", p_.rank - 1, "; i += ", group() * p_.step, ")");
  }
  out.insert(inside);
  out.close();
}

KILN_INLINE void row_steps::skip_missing(lines& out) const {
  if (!p_.even || p_.filled || !held()) return;
  const int whole = whole_steps();
  out.add("if (", whole > 0 ? message("h >= ", whole, " && ") : "", "i >= size", p_.rank - 1, ") continue;");
}

KILN_INLINE void row_steps::count_some(lines& out) const {
  if (p_.even) return;
  const int whole = whole_steps();
  out.add("const int some = ", whole > 0 ? message("h < ", whole, " ? ", p_.step, " : ") : "", "at_most<", p_.step,
          ">(size", p_.rank - 1, " - i);");
}

KILN_INLINE void row_steps::fold_all(lines& out, const std::vector<fold>& folds) {
  if (folds.empty()) return;
  if (!by_warps()) return fold_block(out, folds, folds_, p_.cluster);
  const std::string across = p_.lanes == 32 ? std::string("across_warp") : message("across_lanes<", p_.lanes, ">");
  for (const fold& f : folds) out.add(f.name, " = ", across, "(", f.name, ", ", f.how, ");");
}

KILN_INLINE void row_steps::end_row(lines& out) const {
  if (folds_ > 0) out.add(p_.cluster > 1 ? "meet_cluster();" : "__syncthreads();");
}

KILN_INLINE void row_steps::declare_meeting(lines& out, const tape_view& t) const {
  if (const std::int64_t words = meeting_words(t, p_); words > 0) out.add("__shared__ uint64 meeting[", words, "];");
}

KILN_INLINE void row_steps::begin(lines& out) const {
  if (p_.cluster > 1) out.add("meet_cluster();");
}

}  // namespace kiln::cuda::detail
