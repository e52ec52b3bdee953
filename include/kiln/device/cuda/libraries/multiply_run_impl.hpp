// SPDX-License-Identifier: BSL-1.0
// The definitions of multiply_run.hpp.
#pragma once

#include <kiln/device/cuda/libraries/multiply_run.hpp>

namespace kiln::cuda::detail {

KILN_INLINE std::uint32_t alignment_of(const void* place) {
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(address & (0 - address), 256));
}

KILN_INLINE column_major layout_of(const matrix_operand& x, std::int64_t batch_stride) {
  const bool packed = has_packed_rows(x);
  const matrix_operand rows = packed ? x : transposed(x);
  const std::int64_t leading = rows.rows > 1 ? rows.row_stride : rows.columns;
  return {rows.columns, rows.rows, leading, batch_stride, !packed};
}

}  // namespace kiln::cuda::detail
