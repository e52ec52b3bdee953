// SPDX-License-Identifier: BSL-1.0
// The calls of cuBLASLt that do a stack of matrix products.
//
// Our matrices are row-major and cuBLASLt's are column-major, so it is given the transposed product: in the same memory
// out^T = b^T a^T, all three column-major. Its row-major order would do too, but without epilogues; this way a bias
// along its rows is one along our columns.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>
#include <kiln/core/storage.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/libraries/cublaslt.hpp>
#include <kiln/device/cuda/libraries/multiply_plan.hpp>
#include <kiln/device/cuda/libraries/multiply_task.hpp>
#include <kiln/device/cuda/memory/memory.hpp>

namespace kiln::cuda::detail {

// Kernels put batch indices where a launch can count no further.
inline constexpr std::int64_t most_in_batch = 65535;

std::uint32_t alignment_of(const void* place);

// The transposed matrix as cuBLASLt reads it: packed rows of ours are columns of its own.
column_major layout_of(const matrix_operand& x, std::int64_t batch_stride);

inline const void* at(const void* start, std::int64_t elements, std::size_t size) {
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(start) +
                                       static_cast<std::uintptr_t>(elements) * size);
}

/// A simplified task on one device: the calls of the library that do it.
class product_run {
 public:
  /// `named` is the task as it was asked for, for messages.
  product_run(const product_task& task, const product_walk& walk, const product_task& named, const stream& where)
      : task_(task),
        walk_(walk),
        named_(named),
        where_(where),
        library_(product_library::of(where.device())),
        vector_(vector_of(task)) {
    for (int i = 0; i < walk_.count; ++i) {
      const product_axis& axis = walk_[i];
      if (axis.out > 0 && axis.a >= 0 && axis.b >= 0 && (batched_ < 0 || axis.size > walk_[batched_].size))
        batched_ = i;
    }
  }

  /// Queues all calls.
  void queue() const { walk_axes(0, {task_.a.data, task_.b.data, task_.out}, true, true); }

  /// Whether the library has a kernel for the first call.
  bool is_possible() const {
    const std::int64_t batch = batched_ < 0 ? 1 : std::min(walk_[batched_].size, most_in_batch);
    const places where{task_.a.data, task_.b.data, task_.out};
    return plan(key(where, batch, true), vector_)->possible;
  }

 private:
  struct places {
    const void *a, *b;
    const void* out;
  };
  places moved(const places& from, const product_axis& axis, std::int64_t steps) const {
    const std::size_t size = size_of(task_.type);
    const auto step = [&](std::int64_t stride) {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(steps) * static_cast<std::uint64_t>(stride));
    };
    return {at(from.a, step(axis.a), size), at(from.b, step(axis.b), size), at(from.out, step(axis.out), size)};
  }

  // `first` and `last`: of the calls that add to one result. The first may write it anew, the last finishes it.
  void walk_axes(int depth, const places& from, bool first, bool last) const {
    if (depth == walk_.count) return call_batches(from, first, last);
    const product_axis& axis = walk_[depth];
    if (depth == batched_) return walk_axes(depth + 1, from, first, last);
    for (std::int64_t i = 0; i < axis.size; ++i) {
      const bool sums = axis.out == 0;
      walk_axes(depth + 1, moved(from, axis, i), first && (!sums || i == 0), last && (!sums || i == axis.size - 1));
    }
  }

  void call_batches(const places& from, bool first, bool last) const {
    if (batched_ < 0) return call(from, 1, first, last);
    const product_axis& axis = walk_[batched_];
    for (std::int64_t done = 0; done < axis.size; done += most_in_batch)
      call(moved(from, axis, done), std::min(axis.size - done, most_in_batch), first, last);
  }

  plan_key key(const places& from, std::int64_t batch, bool last) const {
    static constexpr std::array epilogues{matmul_epilogue::none, matmul_epilogue::relu, matmul_epilogue::gelu};
    const product_axis strides = batch > 1 ? walk_[batched_] : product_axis{};
    plan_key made;
    made.batch = static_cast<std::int32_t>(batch);
    made.a = layout_of(task_.b, strides.b);
    made.b = layout_of(task_.a, strides.a);
    made.d = layout_of({nullptr, task_.a.rows, task_.b.columns, task_.out_row_stride, 1, {}}, strides.out);
    made.alignment_a = alignment_of(from.b);
    made.alignment_b = alignment_of(from.a);
    made.alignment_d = alignment_of(from.out);
    if (last) {
      made.epilogue = epilogues[static_cast<std::size_t>(task_.epilogue)];
      if (task_.bias != nullptr) made.epilogue = with_bias(made.epilogue);
      // What is a to us is b to the library.
      if (task_.summed == summed_operand::a) made.epilogue = matmul_epilogue::bias_gradient_b;
      if (task_.summed == summed_operand::b) made.epilogue = matmul_epilogue::bias_gradient_a;
    }
    switch (task_.type) {
      case dtype::float64:
        made.type = cuda_data_type::float64;
        made.compute = cublas_compute::float64;
        break;
      case dtype::float16:
        made.type = cuda_data_type::float16;
        break;
      case dtype::bfloat16:
        made.type = cuda_data_type::bfloat16;
        break;
      default:
        if (allow_tf32()) made.compute = cublas_compute::tf32;
    }
    made.type_b = made.type_d = made.type;
    return made;
  }

  std::shared_ptr<product_plan> plan(const plan_key& wanted, const void* vector) const {
    try {
      return library_.plan(wanted, {.vector = vector});
    } catch (const device_error& caught) {
      throw device_error(message("multiply: ", named_, ": ", caught.what()));
    }
  }

  void call(const places& from, std::int64_t batch, bool first, bool last) const {
    const void* const vector = last ? vector_ : nullptr;
    const std::shared_ptr<product_plan> chosen = plan(key(from, batch, last), vector);
    if (!chosen->possible) {
      throw device_error(message("multiply: cuBLASLt (", cublaslt_api().file.path(), ") has no kernel for ", named_,
                                 last && (task_.epilogue != product_epilogue::none || vector != nullptr)
                                     ? " with this epilogue; ask can_fuse(task, stream) first and apply it after"
                                     : "; use another element type or contiguous operands"));
    }
    // Taken for each call, of the size that this kernel wants (often none), and given back at once: that costs a lock,
    // is right for any number of streams, and in a captured graph it is the graph's own memory.
    const ref<storage> workspace =
        chosen->workspace_bytes == 0 ? ref<storage>() : new_storage(chosen->workspace_bytes, where_);
    const double alpha = 1, beta = first && !task_.add ? 0 : 1;
    const auto alpha_single = static_cast<float>(alpha), beta_single = static_cast<float>(beta);
    const bool is_double = task_.type == dtype::float64;
    void* const out = const_cast<void*>(from.out);
    std::unique_lock<device_lock> lock;
    if (vector != nullptr) {
      lock = std::unique_lock(chosen->pointer_mutex);
      chosen->set_pointers({.vector = vector});
    }
    const cublas_status status = cublaslt_api().multiply(
        library_.handle(), chosen->descriptor.handle, is_double ? static_cast<const void*>(&alpha) : &alpha_single,
        from.b, chosen->a.handle, from.a, chosen->b.handle, is_double ? static_cast<const void*>(&beta) : &beta_single,
        out, chosen->d.handle, out, chosen->d.handle, &chosen->algorithm, workspace ? workspace->data : nullptr,
        chosen->workspace_bytes, where_.handle());
    library_.count_product();
    if (status != cublas_status::success) check(status, message("multiply: ", named_));
  }

  static constexpr matmul_epilogue with_bias(matmul_epilogue epilogue) {
    switch (epilogue) {
      case matmul_epilogue::relu:
        return matmul_epilogue::relu_bias;
      case matmul_epilogue::gelu:
        return matmul_epilogue::gelu_bias;
      default:
        return matmul_epilogue::bias;
    }
  }

  const product_task& task_;
  const product_walk& walk_;
  const product_task& named_;
  const stream& where_;
  product_library& library_;
  const void* vector_;  // the bias, or where sums go
  int batched_ = -1;    // the axis that the library walks through itself
};

}  // namespace kiln::cuda::detail

#ifndef KILN_COMPILED
#include <kiln/device/cuda/libraries/multiply_run_impl.hpp>
#endif
