// SPDX-License-Identifier: BSL-1.0
// The definitions of print_rows.hpp.
#pragma once

#include <kiln/device/cuda/print/print_rows.hpp>

namespace kiln::cuda {

KILN_INLINE source print_rows(const task& job, const plan& p) {
  program merged;
  detail::merge_leaves(job, p, merged);
  const tape_view t = detail::view_of(merged);
  return detail::row_printer(job, p, t).print();
}

}  // namespace kiln::cuda
