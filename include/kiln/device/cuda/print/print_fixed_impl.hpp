// SPDX-License-Identifier: BSL-1.0
// The definitions of print_fixed.hpp.
#pragma once

#include <kiln/device/cuda/print/print_fixed.hpp>

namespace kiln::cuda {

KILN_INLINE source print_fixed(const fixed_kernel& what) {
  source out;
  out.name = "kiln_" + what.name;
  detail::lines body;
  if (!what.words.empty()) body.add("// ", what.words);
  body.add("#include <kernels/", what.file, ">\n");
  body.add("namespace kiln::kernels {\n");
  detail::open_kernel(body, "extern \"C\" __global__ void __launch_bounds__(", what.threads,
                      what.least_blocks > 0 ? message(", ", what.least_blocks) : "", ") ", out.name, "(",
                      what.parameters, ")");
  body.add(what.call, ";");
  body.close();
  body.add("\n}  // namespace kiln::kernels");
  body.add("using kiln::kernels::", out.name, ";");
  out.text = body.text();
  out.threads = what.threads;
  out.waits_for_grid = true;
  return out;
}

}  // namespace kiln::cuda
