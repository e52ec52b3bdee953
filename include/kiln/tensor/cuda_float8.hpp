// SPDX-License-Identifier: BSL-1.0
// Products of 8-bit matrices on a GPU, by cuBLASLt, and kernels that convert float8. For users it comes with
// kiln/cuda_float8.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include <kiln/device/cuda/libraries/multiply_8bit.hpp>
#include <kiln/device/cuda/print/float8_text.hpp>
#include <kiln/tensor/cuda.hpp>
#include <kiln/tensor/cuda_kernel.hpp>
#include <kiln/tensor/float8.hpp>

namespace kiln {
namespace detail {

inline const cuda::custom_kernel& float8_encoder() {
  static const cuda::custom_kernel& kernel = *new cuda::custom_kernel(cuda::float8_encoder_text, "kiln_to_float8");
  return kernel;
}
inline const cuda::custom_kernel& float8_decoder() {
  static const cuda::custom_kernel& kernel = *new cuda::custom_kernel(cuda::float8_decoder_text, "kiln_from_float8");
  return kernel;
}

}  // namespace detail

template <>
struct float8_products<Cuda> {
  static void from_float(const Tensor<float, Cuda>& x, Tensor<std::uint8_t, Cuda>& bits, int fraction,
                         float8_range range) {
    if (x.numel() == 0) return;
    detail::float8_encoder()(grid(x.numel()), bits, x, fraction, static_cast<int>(range == float8_range::saturate),
                             number(x.numel()));
  }

  static void to_float(const Tensor<std::uint8_t, Cuda>& bits, Tensor<float, Cuda>& x, int fraction) {
    if (x.numel() == 0) return;
    detail::float8_decoder()(grid(x.numel()), x, bits, fraction, number(x.numel()));
  }

  template <Element Out, Float8 A, Float8 B>
  static Tensor<Out, Cuda> multiply(const Float8Tensor<A, Cuda>& a, const Float8Tensor<B, Cuda>& b,
                                    const Tensor<float, Cuda>& scale_a, const Tensor<float, Cuda>& scale_b) {
    auto out = detail::empty_near<Out>(dims{a.sizes()[0], b.sizes()[1]}, a.bits);
    cuda::product_8bit task = task_of(a.bits, type_of<A>, b.bits, type_of<B>, out, dtype_of<Out>);
    for (const auto* scale : {&scale_a, &scale_b})
      executor<Cuda>::check_operand(*scale->state()->memory, *out.state()->memory);
    task.scale_a = scale_a.data(), task.scale_b = scale_b.data();
    cuda::multiply_8bit(task, cuda::current_stream(out.device()));
    return out;
  }

  static bool multiply_int8(const Tensor<std::int8_t, Cuda>& a, const Tensor<std::int8_t, Cuda>& b,
                            Tensor<std::int32_t, Cuda>& out) {
    using cuda::cuda_data_type;
    const cuda::product_8bit task = task_of(a, cuda_data_type::int8, b, cuda_data_type::int8, out, dtype::int32);
    const cuda::stream& where = cuda::current_stream(out.device());
    if (!cuda::can_multiply_8bit(task, where)) return false;
    cuda::multiply_8bit(task, where);
    return true;
  }

 private:
  template <Float8 F>
  static constexpr cuda::cuda_data_type type_of =
      F::fraction == 3 ? cuda::cuda_data_type::float8_e4m3fn : cuda::cuda_data_type::float8_e5m2;

  static cuda::launch_size grid(std::int64_t n) {
    return {.grid_x = static_cast<unsigned>(std::clamp<std::int64_t>((n + 255) / 256, 1, 65535)), .block_x = 256};
  }
  static long long number(std::int64_t n) { return n; }

  template <Element T, Element Out>
  static cuda::product_8bit task_of(const Tensor<T, Cuda>& a, cuda::cuda_data_type type_a, const Tensor<T, Cuda>& b,
                                    cuda::cuda_data_type type_b, Tensor<Out, Cuda>& out, dtype type_out) {
    for (const auto* x : {&a, &b}) executor<Cuda>::check_operand(*x->state()->memory, *out.state()->memory);
    const auto matrix = [](const Tensor<T, Cuda>& x) {
      return cuda::matrix_operand{x.data(), x.size(0), x.size(1), x.strides()[0], x.strides()[1], {}};
    };
    return {type_a, type_b, type_out, matrix(a), matrix(b), out.data()};
  }
};

}  // namespace kiln
