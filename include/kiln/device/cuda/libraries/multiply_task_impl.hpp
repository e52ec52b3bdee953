// SPDX-License-Identifier: BSL-1.0
// The definitions of multiply_task.hpp.
#pragma once

#include <kiln/device/cuda/libraries/multiply_task.hpp>

namespace kiln::cuda {

KILN_INLINE std::ostream& operator<<(std::ostream& text, const product_task& task) {
  if (!task.batch.empty()) text << task.batch << " x ";
  text << task.a.rows << 'x' << task.a.columns << " by " << task.b.rows << 'x' << task.b.columns;
  return text << " (" << name(task.type) << ')';
}

namespace detail {

KILN_INLINE void simplify(product_task& task, product_walk& walk) {
  for (bool changed = true; changed;) {
    changed = walk.join();
    for (int i = 0; i < walk.count && !changed; ++i) {
      changed = fold_into_rows(task, walk[i]) || fold_into_sums(task, walk[i]);
      if (changed) walk.erase(i);
    }
  }
}

}  // namespace detail
}  // namespace kiln::cuda
