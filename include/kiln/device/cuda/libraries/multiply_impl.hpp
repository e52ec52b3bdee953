// SPDX-License-Identifier: BSL-1.0
// The definitions of multiply.hpp.
#pragma once

#include <kiln/device/cuda/libraries/multiply.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE void check_task(const product_task& task) {
  if (compute_type(task.type) != dtype::float32 && task.type != dtype::float64) {
    throw dtype_error(message("multiply: ", name(task.type),
                              " matrices; cuBLASLt multiplies float32, float64, float16 and bfloat16: convert first"));
  }
  const int rank = task.batch.rank();
  if (task.a.columns != task.b.rows || task.a.rows < 0 || task.a.columns < 0 || task.b.columns < 0 ||
      task.a.batch_strides.rank() != rank || task.b.batch_strides.rank() != rank ||
      task.out_batch_strides.rank() != rank ||
      std::any_of(task.batch.begin(), task.batch.end(), [](std::int64_t size) { return size < 0; })) {
    throw shape_error(message("multiply: ", task, " with batch strides ", task.a.batch_strides, ", ",
                              task.b.batch_strides, " and ", task.out_batch_strides,
                              "; a needs as many columns as b has rows, and each batch axis one stride of each"));
  }
  for (const std::int64_t size : {task.a.rows, task.a.columns, task.b.columns}) {
    if (size > largest_extent)
      throw shape_error(message("multiply: ", task, "; cuBLASLt takes at most ", largest_extent,
                                " rows or columns: split the larger matrix"));
  }
}

KILN_INLINE bool is_one_sum(const product_task& task) {
  product_walk walk(task);
  if (walk.nothing || walk.empty_sum) return false;
  for (int i = 0; i < walk.count; ++i)
    if (walk[i].out != 0) return false;
  product_task simple = task;
  simplify(simple, walk);
  return walk.count == 0;
}

KILN_INLINE void check_layouts(const product_task& task, bool empty_sum) {
  for (const matrix_operand* x : {&task.a, &task.b}) {
    if (!empty_sum && (!is_readable(*x) || x->data == nullptr))
      throw value_error(message("multiply: ", task, "; the ", x == &task.a ? "left" : "right", " matrix at ", x->data,
                                " with strides ", x->row_stride, " and ", x->column_stride,
                                " cannot be read where it lies: copy it to contiguous memory first"));
  }
  if (task.out == nullptr || (task.a.rows > 1 && task.out_row_stride < task.b.columns)) {
    throw value_error(message("multiply: ", task, "; the result at ", task.out, " with a row stride of ",
                              task.out_row_stride, " does not hold rows of ", task.b.columns,
                              ": give it memory with rows that far apart or more"));
  }
}

}  // namespace detail

KILN_INLINE bool can_fuse(const product_task& task) {
  // Its tanh errs by up to 5e-6, which rounding to a half type hides and rounding to float would not.
  if (task.epilogue == product_epilogue::gelu_tanh && size_of(task.type) > 2) return false;
  if (task.summed != summed_operand::none && (task.sums == nullptr || task.bias != nullptr ||
                                              task.epilogue != product_epilogue::none || !detail::is_one_sum(task)))
    return false;
  return reinterpret_cast<std::uintptr_t>(detail::vector_of(task)) % detail::bias_alignment == 0;
}

KILN_INLINE void multiply(const product_task& task, const stream& where) {
  detail::check_task(task);
  if (!detail::capturing && detail::defer([task, where] { multiply(task, where); })) return;
  detail::product_walk walk(task);
  if (walk.nothing) return;
  detail::check_layouts(task, walk.empty_sum);
  if (!can_fuse(task)) {
    throw value_error(
        message("multiply: ", task, "; cuBLASLt does not have this epilogue for this type or batch, or the vector at ",
                detail::vector_of(task), " is not aligned to 16 bytes: ask can_fuse() first and apply it after"));
  }
  const device_scope scope(where.device());
  product_task simple = task;
  ref<storage> zeros;
  if (walk.empty_sum) {
    if (task.add && task.epilogue == product_epilogue::none && task.bias == nullptr) return;
    // A product of zeros, so that a bias and an epilogue mean what they always do.
    const std::int64_t longest = std::max(task.a.rows, task.b.columns);
    zeros = new_storage(static_cast<std::size_t>(longest) * size_of(task.type), where);
    fill_bytes(zeros->data, 0, zeros->bytes, where);
    simple.a = {zeros->data, task.a.rows, 1, 1, 1, {}};
    simple.b = {zeros->data, 1, task.b.columns, task.b.columns, 1, {}};
    for (int i = walk.count; i-- > 0;) {
      walk[i].a = walk[i].b = 0;
      if (walk[i].out == 0) walk.erase(i);
    }
  }
  detail::simplify(simple, walk);
  detail::product_run(simple, walk, task, where).queue();
}

KILN_INLINE bool can_fuse(const product_task& task, const stream& where) {
  detail::check_task(task);
  detail::product_walk walk(task);
  if (walk.nothing || walk.empty_sum) return can_fuse(task);
  detail::check_layouts(task, false);
  if (!can_fuse(task)) return false;
  const device_scope scope(where.device());
  product_task simple = task;
  detail::simplify(simple, walk);
  return detail::product_run(simple, walk, task, where).is_possible();
}

}  // namespace kiln::cuda
