// SPDX-License-Identifier: BSL-1.0
// Products of stacks of matrices by Eigen, on threads of ours: each takes rows of a product, or whole products of a
// stack.
#pragma once

#include <Eigen/Core>

#include <algorithm>
#include <cstdint>

#include <kiln/device/common/task.hpp>
#include <kiln/device/cpu/kernel/compiled.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/threads/threads.hpp>
#include <kiln/expr/matrix_stack.hpp>

namespace kiln::eigen::inline KILN_VERSION_ISA {

using kiln::detail::batch_offset, kiln::detail::epilogue_function, kiln::detail::matrix_stack;

template <class T>
using strided_matrix = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                                  Eigen::Unaligned, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;
/// Neighbours in a row, or in a column, lie side by side: what Eigen has its fast products for.
template <class T, int Order>
using packed_matrix = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order>, Eigen::Unaligned,
                                 Eigen::OuterStride<Eigen::Dynamic>>;

/// Calls `f` with the matrix as Eigen reads it best. One without neighbours in memory is copied.
template <class T, class F>
void as_matrix(const T* data, Eigen::Index rows, Eigen::Index columns, Eigen::Index row_stride,
               Eigen::Index column_stride, F f) {
  if (column_stride == 1 && (row_stride >= columns || rows == 1))
    return f(packed_matrix<T, Eigen::RowMajor>(data, rows, columns,
                                               Eigen::OuterStride<Eigen::Dynamic>(std::max(row_stride, columns))));
  if (row_stride == 1 && (column_stride >= rows || columns == 1))
    return f(packed_matrix<T, Eigen::ColMajor>(data, rows, columns,
                                               Eigen::OuterStride<Eigen::Dynamic>(std::max(column_stride, rows))));
  const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> copy =
      strided_matrix<T>(data, rows, columns, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(row_stride, column_stride));
  f(packed_matrix<T, Eigen::RowMajor>(copy.data(), rows, columns, Eigen::OuterStride<Eigen::Dynamic>(columns)));
}

/// See cpu::multiply. The bits of a result do not depend on the number of threads: rows are cut by sizes only.
template <class T>
void multiply(const matrix_stack& a, const T* a_data, const matrix_stack& b, const T* b_data, const matrix_stack& out,
              T* out_data, bool accumulate, epilogue_function epilogue) {
  const std::int64_t m = a.rows, n = b.columns, k = a.columns;
  if (m == 0 || n == 0) return;
  const dims batch = kiln::detail::joint_batch(a, b, out);
  const std::int64_t batches = count(batch);
  const dims sa = common::broadcast_strides(a.batch, a.batch_strides, batch),
             sb = common::broadcast_strides(b.batch, b.batch_strides, batch),
             so = common::broadcast_strides(out.batch, out.batch_strides, batch);
  bool summed = false;
  for (int i = 0; i < batch.rank(); ++i) summed |= so[i] == 0 && batch[i] != 1;
  if (summed && !accumulate) std::fill_n(out_data, count(out.batch) * m * n, T(0));
  if (batches == 0) return;  // matrices that are not there may be of any size
  const bool add = accumulate || summed;
  constexpr std::int64_t rows_together = 128;
  const std::int64_t parts = (m + rows_together - 1) / rows_together;
  using result = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, Eigen::Unaligned,
                            Eigen::OuterStride<Eigen::Dynamic>>;
  auto part = [&](std::int64_t i, std::int64_t r0) {
    const std::int64_t rows = std::min(rows_together, m - r0);
    const T* const left_data = a_data + r0 * a.row_stride + batch_offset(i, batch, sa);
    const T* const right_data = b_data + batch_offset(i, batch, sb);
    T* const to_data = out_data + r0 * out.row_stride + batch_offset(i, batch, so);
    result to(to_data, rows, n, Eigen::OuterStride<Eigen::Dynamic>(std::max(out.row_stride, n)));
    if (k == 0) {
      if (!add) to.setZero();
    } else {
      as_matrix(left_data, rows, k, a.row_stride, a.column_stride, [&](const auto& left) {
        as_matrix(right_data, k, n, b.row_stride, b.column_stride, [&](const auto& right) {
          if (add)
            to.noalias() += left * right;
          else
            to.noalias() = left * right;
        });
      });
    }
    if (epilogue.call) epilogue.call(epilogue.object, i, r0, r0 + rows, 0, n);
  };
  // Sums over products of a stack are made in their order, by the thread that has their rows.
  const std::int64_t work = std::max<std::int64_t>(std::min(m, rows_together) * n * std::max<std::int64_t>(k, 1), 1);
  const std::int64_t grain = std::max<std::int64_t>(16 * cpu::work_per_thread / work, 1);
  if (summed)
    cpu::parallel_for(parts, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p)
        for (std::int64_t i = 0; i < batches; ++i) part(i, p * rows_together);
    });
  else
    cpu::parallel_for(parts * batches, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) part(j / parts, j % parts * rows_together);
    });
}

}  // namespace kiln::eigen::inline KILN_VERSION_ISA
