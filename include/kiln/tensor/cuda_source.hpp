// SPDX-License-Identifier: BSL-1.0
// source<Cuda>(expression): the CUDA that runs when the expression is evaluated. Nothing is compiled or launched, and
// no GPU is needed: tensors of the host show what a GPU would run on tensors of their shapes.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <kiln/expr/formula.hpp>
#include <kiln/tensor/cuda.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln {

namespace detail {

/// The task of one evaluation, with its result and its products at addresses that nothing has.
template <class E>
class pictured_task {
 public:
  pictured_task(const E& e, collected<E>& c, const evaluation& how) {
    if constexpr (census<E>::products > 0)
      for (std::size_t k = 0; k < products_.size(); ++k)
        if (!c.leaf[k]) {
          const tensor_state &a = *c.product_left[k], &b = *c.product_right[k];
          place(products_[k], a.type, product_sizes(a.sizes, b.sizes));
          c.leaf[k] = &products_[k];
        }
    place(out_, dtype_of<typename E::value_type>, result_sizes(e, how));
    const common::program_view& program = cuda_program<value_program<E>>;
    std::array<common::operand_view, static_cast<std::size_t>(census<E>::leaves) + 1> in;
    for (int k = 0; k < program.slots; ++k) {
      const tensor_state& leaf = *c.leaf[static_cast<std::size_t>(k)];
      in[static_cast<std::size_t>(k)] = operand_over(leaf, how.domain);
    }
    common::result_view out = result_over(out_, how);
    cuda::take(task, {.program = &program,
                      .domain = how.domain,
                      .reduced_axes = how.axes,
                      .in = in.data(),
                      .out = &out,
                      .scalars = c.number.data()});
  }
  pictured_task(const pictured_task&) = delete;
  pictured_task& operator=(const pictured_task&) = delete;
  cuda::task task;

 private:
  void place(tensor_state& t, dtype type, const dims& sizes) {
    t.type = type;
    t.sizes = sizes;
    t.strides = contiguous_strides(sizes);
    t.data = reinterpret_cast<void*>(next_ << 44);
    ++next_;
  }
  std::uintptr_t next_ = std::uintptr_t{1} << 16;
  std::array<tensor_state, static_cast<std::size_t>(census<E>::leaves)> products_;
  tensor_state out_;
};

template <class E>
std::string cuda_source(const E& e) {
  constexpr const char* first = "// Not one kernel: reductions inside are evaluated first, each by its own.\n";
  if constexpr (never_fits<E>) {
    return first + cuda_source(row_split::unnested(e));
  } else {
    collected<E> c(e);
    evaluation how;
    if (!plan_evaluation(e, c, how)) {
      if constexpr (census<E>::rows > 0 && !always_fits<E>) return first + cuda_source(row_split::apart(e));
    }
    std::string text;
    if constexpr (is_product<E>) return "// A product, by cuBLASLt.\n";
    if constexpr (census<E>::products > 0) text = "// Products come from cuBLASLt; this reads them.\n";
    const pictured_task<E> picture(e, c, how);
    const cuda::device_shape shape = cuda_available() ? cuda::detail::shape_of(Cuda{}) : cuda::device_shape{};
    std::size_t scratch = 0;
    for (const cuda::launch& each : cuda::schedule(picture.task, shape, cuda::detail::planned_scratch(scratch))) {
      if (!text.empty()) text += "\n";
      text += print_kernel(each).text;
    }
    return text;
  }
}

}  // namespace detail

/// The text of the kernels that evaluate an expression on a GPU, in the order in which they run.
template <std::same_as<Cuda> Device, Expression E>
std::string source(const E& e) {
  return "// " + formula(e) + "\n" + detail::cuda_source(e);
}

}  // namespace kiln
