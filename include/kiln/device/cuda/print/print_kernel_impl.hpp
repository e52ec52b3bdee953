// SPDX-License-Identifier: BSL-1.0
// The definitions of print_kernel.hpp.
#pragma once

#include <kiln/device/cuda/print/print_columns.hpp>
#include <kiln/device/cuda/print/print_kernel.hpp>
#include <kiln/device/cuda/print/print_map.hpp>
#include <kiln/device/cuda/print/print_reduce.hpp>
#include <kiln/device/cuda/print/print_rows.hpp>
#include <kiln/device/cuda/print/print_transpose.hpp>

namespace kiln::cuda {

KILN_INLINE source print_kernel(const task& job, const plan& p) {
  switch (p.shape) {
    case kernel_shape::map:
      return print_map(job, p);
    case kernel_shape::warp_per_row:
    case kernel_shape::block_per_row:
    case kernel_shape::cluster_per_row:
    case kernel_shape::long_rows:
      return print_rows(job, p);
    case kernel_shape::reduce_all:
      return print_reduce(job, p);
    case kernel_shape::columns:
      return print_columns(job, p);
    case kernel_shape::transpose:
      break;
  }
  return print_transpose(job, p);
}

}  // namespace kiln::cuda
