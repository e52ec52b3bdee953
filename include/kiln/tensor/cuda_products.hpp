// SPDX-License-Identifier: BSL-1.0
// Matrix products on a GPU: by cuBLASLt for floating types, by a row program of our own for integers, which it lacks.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include <kiln/device/cuda/libraries/multiply.hpp>
#include <kiln/ops/activation.hpp>
#include <kiln/tensor/cuda_run.hpp>
#include <kiln/tensor/multiply.hpp>
#include <kiln/tensor/product_epilogue.hpp>

namespace kiln {
namespace detail {

/// A leaf as it is.
template <Element T>
struct copy_program {
  static constexpr auto tape =
      finished([](program& out) { out.add_result(out.push({.code = opcode::leaf, .type = dtype_of<T>, .slot = 0})); });
  static constexpr bool reduction_rooted = false;
  static constexpr std::array<dtype, 1> stores{dtype_of<T>};
};
/// The sum over a row of the products of two leaves, computed in the element type as the processor's products are.
template <Element T>
struct dot_program {
  static constexpr auto tape = finished([](program& out) {
    constexpr dtype type = compute_type(dtype_of<T>);
    const int a = out.push({.code = opcode::leaf, .type = dtype_of<T>, .slot = 0});
    const int b = out.push({.code = opcode::leaf, .type = dtype_of<T>, .slot = 1});
    const int terms = out.push(
        {.code = opcode_of("mul"), .type = type, .a = static_cast<std::int16_t>(a), .b = static_cast<std::int16_t>(b)});
    out.add_result(out.push({.code = opcode_of("sum"), .type = type, .a = static_cast<std::int16_t>(terms)}));
  });
  static constexpr bool reduction_rooted = true;
  static constexpr std::array<dtype, 1> stores{dtype_of<T>};
};

/// A stack of matrices in contiguous memory of its own, batch axes along which it is repeated left out.
template <Element T>
ref<storage> packed_on_cuda(cuda::matrix_operand& x, const dims& batch, Cuda device) {
  dims domain, from, to;
  std::int64_t elements = 1;
  const auto add = [&](std::int64_t size, std::int64_t stride) {
    domain.push_back(size);
    from.push_back(stride);
    to.push_back(0);
  };
  for (int i = 0; i < batch.rank(); ++i) add(x.batch_strides[i] == 0 ? 1 : batch[i], x.batch_strides[i]);
  add(x.rows, x.row_stride);
  add(x.columns, x.column_stride);
  for (int i = domain.rank() - 1; i >= 0; --i) {
    to[i] = elements;
    elements *= domain[i];
  }
  ref<storage> memory = cuda::new_storage(static_cast<std::size_t>(elements) * sizeof(T), device);
  common::operand_view in{x.data, from, sizeof(T)};
  common::result_view out{memory->data, to, dtype_of<T>, false};
  run_on_cuda<copy_program<T>>({.domain = domain, .in = &in, .out = &out}, device);
  for (int i = 0; i < batch.rank(); ++i)
    if (x.batch_strides[i] != 0) x.batch_strides[i] = to[i];
  x.data = memory->data;
  x.row_stride = x.columns;
  x.column_stride = 1;
  return memory;
}

/// A product of floating matrices as cuBLASLt is asked for it. Operands that it cannot read where they lie are packed.
template <Element T>
class library_product {
 public:
  library_product(const matrix_stack& a, const T* a_data, const matrix_stack& b, const T* b_data,
                  const matrix_stack& out, T* out_data, bool accumulate, Cuda device)
      : device_(device) {
    const dims batch = joint_batch(a, b, out);
    const auto strides = [&](const matrix_stack& m) {
      return common::broadcast_strides(m.batch, m.batch_strides, batch);
    };
    task.type = dtype_of<T>;
    task.batch = batch;
    task.a = {a_data, a.rows, a.columns, a.row_stride, a.column_stride, strides(a)};
    task.b = {b_data, b.rows, b.columns, b.row_stride, b.column_stride, strides(b)};
    task.out = out_data;
    task.out_row_stride = out.row_stride;
    task.out_batch_strides = strides(out);
    task.add = accumulate;
    const bool any = count(batch) > 0 && a.rows > 0 && a.columns > 0 && b.columns > 0;
    if (any && !cuda::is_readable(task.a)) left_ = packed_on_cuda<T>(task.a, batch, device);
    if (any && !cuda::is_readable(task.b)) right_ = packed_on_cuda<T>(task.b, batch, device);
  }
  bool can_fuse() const { return cuda::can_fuse(task, cuda::current_stream(device_)); }
  void run() const { cuda::multiply(task, cuda::current_stream(device_)); }
  cuda::product_task task;

 private:
  Cuda device_;
  ref<storage> left_, right_;  // memory of packed operands
};

/// What cuBLASLt applies to a product as it stores it. Its GELU is the approximation by tanh.
template <class Op>
inline constexpr cuda::product_epilogue cuda_epilogue = cuda::product_epilogue::none;
template <>
inline constexpr cuda::product_epilogue cuda_epilogue<relu_op> = cuda::product_epilogue::relu;
template <>
inline constexpr cuda::product_epilogue cuda_epilogue<gelu_tanh_op> = cuda::product_epilogue::gelu_tanh;

}  // namespace detail

template <>
struct product_epilogues<Cuda> {
  template <class Op>
  static constexpr bool has = std::is_void_v<Op> || detail::cuda_epilogue<Op> != cuda::product_epilogue::none;

  /// Op(a b + bias) of two matrices, or stacks of them, with a bias of one value per column or none, rounded once.
  /// False where that is not what is there, or cuBLASLt has no kernel for it.
  template <Element T, class Op>
  static bool multiply(const tensor_state& a, const tensor_state& b, const tensor_state* bias, tensor_state& out) {
    if constexpr (is_floating(dtype_of<T>)) {
      if (a.sizes.rank() < 2 || b.sizes.rank() < 2 || count(out.sizes) == 0) return false;
      if (bias && (bias->type != out.type || bias->sizes.rank() != 1 || bias->sizes[0] != out.sizes.back() ||
                   (bias->strides[0] != 1 && bias->sizes[0] != 1)))
        return false;
      const detail::matrix_stack left = detail::as_matrices(a, true), right = detail::as_matrices(b, false),
                                 result = detail::as_matrices(out, true);
      detail::library_product<T> product(left, static_cast<const T*>(a.data), right, static_cast<const T*>(b.data),
                                         result, static_cast<T*>(out.data), false, {out.memory->device});
      product.task.bias = bias ? bias->data : nullptr;
      product.task.epilogue = detail::cuda_epilogue<Op>;
      if (!product.can_fuse()) return false;
      product.run();
      return true;
    } else {
      return false;  // cuBLASLt multiplies no integers
    }
  }
};

namespace detail {

/// The product of two matrices, or of stacks that are summed, and beside it the sums of one operand over the inner
/// axis. False if those were not written: cuBLASLt lacks a kernel for them, or the result has a batch.
template <Element T>
bool multiply_and_sum_on_cuda(const matrix_stack& a, const T* a_data, const matrix_stack& b, const T* b_data,
                              const matrix_stack& out, T* out_data, bool accumulate, cuda::summed_operand which,
                              void* sums, Cuda device) {
  library_product<T> product(a, a_data, b, b_data, out, out_data, accumulate, device);
  product.task.summed = which;
  product.task.sums = sums;
  const bool fused = product.can_fuse();
  if (!fused) product.task.summed = cuda::summed_operand::none;
  product.run();
  return fused;
}

/// Products of two stacks of matrices, as detail::multiply does them on the processor.
template <Element T>
void multiply_on_cuda(const matrix_stack& a, const T* a_data, const matrix_stack& b, const T* b_data,
                      const matrix_stack& out, T* out_data, bool accumulate, Cuda device) {
  if constexpr (is_floating(dtype_of<T>)) {
    library_product<T>(a, a_data, b, b_data, out, out_data, accumulate, device).run();
  } else {
    const dims batch = joint_batch(a, b, out);
    const auto strides = [&](const matrix_stack& m) {
      return common::broadcast_strides(m.batch, m.batch_strides, batch);
    };
    // Rows of products: over the batch axes that are summed, and over the inner axis.
    dims domain = batch, left = strides(a), right = strides(b), to = strides(out);
    common::task job;
    for (int i = 0; i < batch.rank(); ++i)
      if (to[i] == 0 && batch[i] != 1) job.reduced_axes |= 1u << i;
    const auto add = [&](std::int64_t size, std::int64_t l, std::int64_t r, std::int64_t y) {
      domain.push_back(size);
      left.push_back(l);
      right.push_back(r);
      to.push_back(y);
    };
    add(a.rows, a.row_stride, 0, out.row_stride);
    add(b.columns, 0, b.column_stride, 1);
    add(a.columns, a.column_stride, b.row_stride, 0);
    job.reduced_axes |= 1u << (domain.rank() - 1);
    std::array<common::operand_view, 2> in{common::operand_view{a_data, left, sizeof(T)},
                                           common::operand_view{b_data, right, sizeof(T)}};
    common::result_view result{out_data, to, dtype_of<T>, accumulate};
    job.domain = domain;
    job.in = in.data();
    job.out = &result;
    run_on_cuda<dot_program<T>>(job, device);
  }
}

}  // namespace detail
}  // namespace kiln
