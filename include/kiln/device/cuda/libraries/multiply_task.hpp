// SPDX-License-Identifier: BSL-1.0
// A stack of matrix products as data: what is multiplied, what is done to the result, and the same work written with
// fewer and larger products.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <ostream>
#include <utility>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/core/version.hpp>

namespace kiln::cuda {

/// A stack of matrices in device memory: element (r, c) of the one at index i is at
/// data + sum(i[j] * batch_strides[j]) + r * row_stride + c * column_stride, in elements.
struct matrix_operand {
  const void* data = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 0;
  dims batch_strides;  ///< one per axis of product_task::batch, 0 where broadcast
};

/// What is done to a + b (product and, with `add`, what was there) after the bias.
enum class product_epilogue {
  none,
  /// max(x, 0). What becomes of a NaN cuBLASLt does not document; XLA and PyTorch's compiled graphs use it as relu all
  /// the same, and tests/gpu/products.test.cpp says if a device does not keep it.
  relu,
  gelu_tanh  ///< cuBLASLt's GELU, which is the approximation by tanh
};

/// Which operand is summed over the inner axis beside the product: a gives m sums, b gives n. Where that operand is the
/// gradient of a layer's result, and the product that of its weight, they are the gradient of its bias. (Whether they
/// are of numbers rounded to TF32, where products may be, NVIDIA does not say.)
enum class summed_operand { none, a, b };

/// out = epilogue(a b + bias), or epilogue(a b + out + bias) with `add`, for each index of the batch.
struct product_task {
  dtype type = dtype::float32;  ///< of all operands: float32, float64, float16 or bfloat16
  dims batch;                   ///< sizes of the batch axes; may be empty
  matrix_operand a, b;          ///< a: m x k, b: k x n
  void* out = nullptr;          ///< m x n, column stride 1
  std::int64_t out_row_stride = 0;
  dims out_batch_strides;  ///< one per batch axis; 0 where the products are summed over the axis
  bool add = false;        ///< onto what is there
  product_epilogue epilogue = product_epilogue::none;
  const void* bias = nullptr;  ///< n contiguous values, added to every row; or null
  summed_operand summed = summed_operand::none;
  void* sums = nullptr;  ///< where the sums of `summed` are written, next to each other; there is no bias then
};

/// The sizes, for messages: "[2, 3] x 4x5 by 5x6 (float16)".
std::ostream& operator<<(std::ostream& text, const product_task& task);

namespace detail {

// What the library's bias vector is for a task: the bias, which is read, or the sums, which are written. Null: neither.
constexpr const void* vector_of(const product_task& task) {
  return task.summed == summed_operand::none ? task.bias : task.sums;
}

inline constexpr std::int64_t largest_extent = std::numeric_limits<std::int32_t>::max();

// Rows one after another, `row_stride` apart; of one row the stride does not count.
constexpr bool has_packed_rows(const matrix_operand& x) {
  return (x.column_stride == 1 || x.columns <= 1) && (x.row_stride >= x.columns || x.rows <= 1);
}
constexpr matrix_operand transposed(matrix_operand x) {
  std::swap(x.rows, x.columns);
  std::swap(x.row_stride, x.column_stride);
  return x;
}
constexpr bool is_apart(std::int64_t outer, std::int64_t count, std::int64_t inner) {
  std::int64_t reach = 0;
  return !__builtin_mul_overflow(count, inner, &reach) && outer == reach;
}

}  // namespace detail

/// Whether cuBLASLt can read an operand where it lies: its elements are next to each other along one axis, and along
/// the other not closer than the extent, and neither extent is above 2^31 - 1. Batch strides are free.
constexpr bool is_readable(const matrix_operand& x) {
  return x.rows <= detail::largest_extent && x.columns <= detail::largest_extent &&
         (detail::has_packed_rows(x) || detail::has_packed_rows(detail::transposed(x)));
}

namespace detail {

/// One batch axis: how many, and the distance from one to the next.
struct product_axis {
  std::int64_t size = 1, a = 0, b = 0, out = 0;
};

/// The batch axes of a task as they are walked through. Axes of one index are left out.
struct product_walk {
  std::array<product_axis, max_rank> axes{};
  int count = 0;
  bool nothing = false;    ///< no result has an element
  bool empty_sum = false;  ///< each result is the sum of no products

  explicit product_walk(const product_task& task) {
    nothing = task.a.rows == 0 || task.b.columns == 0;
    empty_sum = task.a.columns == 0;
    for (int i = 0; i < task.batch.rank(); ++i) {
      const product_axis axis{task.batch[i], task.a.batch_strides[i], task.b.batch_strides[i],
                              task.out_batch_strides[i]};
      nothing |= axis.size == 0 && axis.out != 0;
      empty_sum |= axis.size == 0 && axis.out == 0;
      if (axis.size > 1) axes[static_cast<std::size_t>(count++)] = axis;
    }
  }
  product_axis& operator[](int i) { return axes[static_cast<std::size_t>(i)]; }
  const product_axis& operator[](int i) const { return axes[static_cast<std::size_t>(i)]; }
  void erase(int i) { std::move(axes.begin() + i + 1, axes.begin() + count--, axes.begin() + i); }

  /// Two axes that every operand walks through in one stride become one.
  bool join() {
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < count; ++j) {
        const product_axis &outer = (*this)[i], inner = (*this)[j];
        std::int64_t size = 0;
        if (i == j || __builtin_mul_overflow(outer.size, inner.size, &size) ||
            !is_apart(outer.a, inner.size, inner.a) || !is_apart(outer.b, inner.size, inner.b) ||
            !is_apart(outer.out, inner.size, inner.out))
          continue;
        (*this)[j].size = size;
        erase(i);
        return true;
      }
    }
    return false;
  }
};

// Makes an axis part of the rows of a matrix, if its elements stay readable.
constexpr bool append_rows(matrix_operand& x, std::int64_t size, std::int64_t stride) {
  if (x.rows > 1 && !is_apart(stride, x.rows, x.row_stride)) return false;
  matrix_operand more = x;
  if (x.rows == 1) more.row_stride = stride;
  if (__builtin_mul_overflow(x.rows, size, &more.rows) || !is_readable(more)) return false;
  x = more;
  return true;
}

// An axis on which b stands still becomes rows of a: tokens of a batch times one weight matrix are one product.
constexpr bool fold_into_rows(product_task& task, const product_axis& axis) {
  if (axis.b != 0 || axis.out <= 0) return false;
  matrix_operand a = task.a;
  matrix_operand out{nullptr, task.a.rows, task.b.columns, task.out_row_stride, 1, {}};
  if (!append_rows(a, axis.size, axis.a) || !append_rows(out, axis.size, axis.out) || !has_packed_rows(out))
    return false;
  task.a = a;
  task.out_row_stride = out.row_stride;
  return true;
}

// An axis that is summed over becomes part of the sums' length: a gradient of weights is one product.
constexpr bool fold_into_sums(product_task& task, const product_axis& axis) {
  if (axis.out != 0) return false;
  matrix_operand a = transposed(task.a), b = task.b;
  if (!append_rows(a, axis.size, axis.a) || !append_rows(b, axis.size, axis.b)) return false;
  task.a = transposed(a);
  task.b = b;
  return true;
}

/// The same work with as few and as large products as the strides allow. The batch of the task is then the walk's.
void simplify(product_task& task, product_walk& walk);

}  // namespace detail
}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/libraries/multiply_task_impl.hpp>
#endif
