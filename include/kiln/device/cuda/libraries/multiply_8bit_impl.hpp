// SPDX-License-Identifier: BSL-1.0
// The definitions of multiply_8bit.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include <kiln/core/error.hpp>
#include <kiln/core/storage.hpp>
#include <kiln/device/cuda/driver/context.hpp>
#include <kiln/device/cuda/libraries/multiply_8bit.hpp>
#include <kiln/device/cuda/libraries/multiply_run.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/memory/memory_copy.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE bool is_int8(const product_8bit& task) {
  return task.type_a == cuda_data_type::int8;
}
KILN_INLINE std::string sizes_of(const product_8bit& task) {
  return message(task.a.rows, 'x', task.a.columns, " by ", task.b.rows, 'x', task.b.columns,
                 is_int8(task) ? " (int8)" : " (float8)");
}
// cuBLASLt's matrix whose columns, `elements` long, are rows of ours that it sums along.
KILN_INLINE column_major summed_along(std::int64_t elements, std::int64_t count, std::int64_t distance, bool turned) {
  return {elements, count, count > 1 ? distance : elements, 0, turned};
}

// As in multiply_run.hpp the transposed product: our b is the library's a.
KILN_INLINE plan_key key_of(const product_8bit& task) {
  plan_key made;
  made.type = task.type_b;
  made.type_b = task.type_a;
  made.type_d = is_int8(task)                      ? cuda_data_type::int32
                : task.type_out == dtype::float16  ? cuda_data_type::float16
                : task.type_out == dtype::bfloat16 ? cuda_data_type::bfloat16
                                                   : cuda_data_type::float32;
  if (is_int8(task)) made.compute = cublas_compute::int32;
  made.a = summed_along(task.b.rows, task.b.columns, task.b.column_stride, true);
  made.b = summed_along(task.a.columns, task.a.rows, task.a.row_stride, false);
  made.d = {task.b.columns, task.a.rows, task.b.columns, 0, false};
  made.alignment_a = alignment_of(task.b.data);
  made.alignment_b = alignment_of(task.a.data);
  made.alignment_d = alignment_of(task.out);
  return made;
}

KILN_INLINE bool is_nothing(const product_8bit& task) {
  return task.a.rows == 0 || task.b.columns == 0 || task.a.columns == 0;
}

KILN_INLINE std::shared_ptr<product_plan> plan_of(const product_8bit& task, product_library& library) {
  return library.plan(key_of(task), {nullptr, task.scale_b, task.scale_a});
}

}  // namespace detail

KILN_INLINE std::string obstacle(const product_8bit& task) {
  if (detail::is_nothing(task)) return {};
  const std::int64_t unit = detail::is_int8(task) ? 4 : 16, m = task.a.rows, k = task.a.columns, n = task.b.columns;
  if (m > detail::largest_extent || k > detail::largest_extent || n > detail::largest_extent)
    return message("cuBLASLt takes at most ", detail::largest_extent, " rows or columns: split the larger matrix");
  if (k % unit != 0 || n % unit != 0)
    return message("cuBLASLt needs the inner size ", k, " and the columns ", n, " to be multiples of ", unit,
                   ": pad with zeros");
  if (task.a.column_stride != 1 || (m > 1 && (task.a.row_stride < k || task.a.row_stride % unit != 0)))
    return message("cuBLASLt reads the left matrix by rows without gaps, a multiple of ", unit,
                   " elements apart; these strides are ", task.a.row_stride, " and ", task.a.column_stride,
                   ": copy it to contiguous memory first");
  if (task.b.row_stride != 1 || (n > 1 && (task.b.column_stride < k || task.b.column_stride % unit != 0)))
    return message("cuBLASLt reads the right matrix by columns without gaps, a multiple of ", unit,
                   " elements apart; these strides are ", task.b.row_stride, " and ", task.b.column_stride,
                   ": keep it as (n, k) and give its transposed view t()");
  for (const void* x : std::array<const void*, 3>{task.a.data, task.b.data, task.out})
    if (reinterpret_cast<std::uintptr_t>(x) % 16 != 0)
      return message("cuBLASLt needs memory at multiples of 16 bytes; ", x, " is not: copy that matrix first");
  return {};
}

KILN_INLINE bool can_multiply_8bit(const product_8bit& task, const stream& where) {
  if (detail::is_nothing(task)) return true;
  if (!obstacle(task).empty()) return false;
  const device_scope scope(where.device());
  return detail::plan_of(task, detail::product_library::of(where.device()))->possible;
}

KILN_INLINE void multiply_8bit(const product_8bit& task, const stream& where) {
  if (const std::string reason = obstacle(task); !reason.empty())
    throw value_error(message("product of 8-bit matrices ", detail::sizes_of(task), ": ", reason));
  const device_scope scope(where.device());
  if (detail::is_nothing(task)) {
    const std::int64_t results = task.a.rows * task.b.columns;
    if (results > 0) fill_bytes(task.out, 0, static_cast<std::size_t>(results) * size_of(task.type_out), where);
    return;
  }
  detail::product_library& library = detail::product_library::of(where.device());
  const std::shared_ptr<detail::product_plan> chosen = detail::plan_of(task, library);
  if (!chosen->possible)
    throw device_error(message("product of 8-bit matrices ", detail::sizes_of(task), ": cuBLASLt (",
                               cublaslt_api().file.path(),
                               ") has no kernel for it; float8 needs compute capability 8.9: multiply x.value(), or "
                               "half of it"));
  const ref<storage> workspace =
      chosen->workspace_bytes == 0 ? ref<storage>() : new_storage(chosen->workspace_bytes, where);
  const float one = 1, zero = 0;
  const std::int32_t whole_one = 1, whole_zero = 0;
  const bool whole = detail::is_int8(task);
  const std::lock_guard lock(chosen->pointer_mutex);
  chosen->set_pointers({nullptr, task.scale_b, task.scale_a});
  const cublas_status status = cublaslt_api().multiply(
      library.handle(), chosen->descriptor.handle, whole ? static_cast<const void*>(&whole_one) : &one, task.b.data,
      chosen->a.handle, task.a.data, chosen->b.handle, whole ? static_cast<const void*>(&whole_zero) : &zero, task.out,
      chosen->d.handle, task.out, chosen->d.handle, &chosen->algorithm, workspace ? workspace->data : nullptr,
      chosen->workspace_bytes, where.handle());
  library.count_product();
  if (status != cublas_status::success) check(status, message("product of 8-bit matrices ", detail::sizes_of(task)));
}

}  // namespace kiln::cuda
