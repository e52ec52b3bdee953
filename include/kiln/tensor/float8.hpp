// SPDX-License-Identifier: BSL-1.0
// Products of 8-bit matrices: tensors of float8 with scales, and int8 with sums in int32. What a device has of its own
// for them stands in `float8_products<Device>`; for users it comes with kiln/float8.hpp.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/core/float8.hpp>
#include <kiln/device/cpu/threads/threads.hpp>
#include <kiln/expr/members.hpp>
#include <kiln/ops/cast.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/tensor.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

/// A tensor of 8-bit floating numbers, as their bits. It is stored, moved, turned and multiplied (scaled_matmul);
/// to_float8 makes it, and `value` gives what else is to be computed with.
template <Float8 F, class Device = Cpu>
struct Float8Tensor {
  Tensor<std::uint8_t, Device> bits;

  const dims& sizes() const { return bits.sizes(); }
  /// The transposed matrix, as a view.
  Float8Tensor t() const { return {bits.t()}; }
  /// On another device.
  template <class To>
  Float8Tensor<F, To> to(To where = {}) const {
    return {bits.template to<To>(where)};
  }
  /// The values, exactly. (half holds them too: cast<half>(x.value()).)
  Tensor<float, Device> value() const;
};

/// What a device does with float8 beyond what its tensors do. One without the host's memory says how elements are
/// converted; `multiply` and `multiply_int8` may be left out.
template <class Device>
struct float8_products;

template <OnHost Device>
struct float8_products<Device> {
  static void from_float(const Tensor<float, Device>& x, Tensor<std::uint8_t, Device>& bits, int fraction,
                         float8_range range) {
    convert(x.data(), bits.data(), x.numel(), [=](float v) { return float8_bits(v, fraction, range); });
  }
  static void to_float(const Tensor<std::uint8_t, Device>& bits, Tensor<float, Device>& x, int fraction) {
    convert(bits.data(), x.data(), x.numel(), [=](std::uint8_t b) { return float8_value(b, fraction); });
  }

 private:
  template <class From, class To, class F>
  static void convert(const From* from, To* to, std::int64_t n, F f) {
    cpu::parallel_for(n, 16384, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = f(from[i]);
    });
  }
};

namespace detail {

// With its elements in order and without gaps.
template <Element T, class Device>
Tensor<T, Device> packed(const Tensor<T, Device>& x) {
  return x.is_contiguous() ? x.detach() : x.detach().clone();
}

template <Element T, class Device, class Near>
Tensor<T, Device> empty_near(const dims& sizes, const Tensor<Near, Device>& near) {
  return Tensor<T, Device>(executor<Device>::new_tensor(dtype_of<T>, sizes, *near.state()->memory));
}

inline void check_8bit_product(const char* name, const dims& a, const dims& b) {
  if (a.rank() != 2 || b.rank() != 2 || a[1] != b[0])
    throw shape_error(message(name, ": shapes ", a, " and ", b,
                              ": both must be matrices, the first with as many columns as the second has rows"));
}

}  // namespace detail

/// The numbers of x in 8 bits: the nearest, ties to even; beyond the largest, as `range` has it. To keep them within
/// range, divide by a scale before, and give that scale to scaled_matmul. Gradients do not flow through it.
template <Float8 F, Expression X>
auto to_float8(const X& x, float8_range range = float8_range::saturate) {
  using T = typename X::value_type;
  using Device = typename X::device_type;
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, half> || std::is_same_v<T, bfloat16>,
                "kiln: to_float8 takes float, half or bfloat16: cast<float>() the operand");
  const no_grad quiet;
  const auto values = detail::packed(Tensor<float, Device>(cast<float>(x)));
  Float8Tensor<F, Device> made{detail::empty_near<std::uint8_t>(values.sizes(), values)};
  float8_products<Device>::from_float(values, made.bits, F::fraction, range);
  return made;
}

template <Float8 F, class Device>
Tensor<float, Device> Float8Tensor<F, Device>::value() const {
  const auto from = detail::packed(bits);
  auto made = detail::empty_near<float>(from.sizes(), from);
  float8_products<Device>::to_float(from, made, F::fraction);
  return made;
}

/// (scale_a a) (scale_b b) for matrices a (m, k) and b (k, n), summed in float and rounded once to Out: PyTorch's
/// torch._scaled_mm with one scale for each matrix. Two E5M2 are not multiplied, which cuBLASLt cannot. On a GPU k and
/// n have to be multiples of 16, a's rows and b's columns to lie without gaps (b is the `t()` of a matrix that does),
/// and the GPU to have compute capability 8.9 or newer. Throws shape_error where sizes do not fit, value_error for what
/// cuBLASLt cannot read, device_error where it has no kernel. Gradients do not flow through it.
template <Element Out = float, Float8 A, Float8 B, class Device>
Tensor<Out, Device> scaled_matmul(const Float8Tensor<A, Device>& a, const Float8Tensor<B, Device>& b,
                                  const Tensor<float, Device>& scale_a, const Tensor<float, Device>& scale_b) {
  static_assert(A::fraction == 3 || B::fraction == 3,
                "kiln: scaled_matmul needs a float8_e4m3fn on one side at least: cuBLASLt has no product of two E5M2");
  static_assert(std::is_same_v<Out, float> || std::is_same_v<Out, half> || std::is_same_v<Out, bfloat16>,
                "kiln: scaled_matmul gives float, half or bfloat16");
  detail::check_8bit_product("scaled_matmul", a.sizes(), b.sizes());
  if (scale_a.numel() != 1 || scale_b.numel() != 1)
    throw shape_error(message("scaled_matmul: scales of shape ", scale_a.sizes(), " and ", scale_b.sizes(),
                              ": each matrix has one scale, a tensor of one element"));
  const no_grad quiet;
  if constexpr (requires { &float8_products<Device>::template multiply<Out, A, B>; })
    return float8_products<Device>::template multiply<Out, A, B>(a, b, scale_a.detach(), scale_b.detach());
  else
    return cast<Out>(matmul(a.value(), b.value()) * scale_a.detach().reshape({}) * scale_b.detach().reshape({}));
}

/// The product of matrices (m, k) and (k, n) of int8, summed in int32: torch._int_mm. Sums wrap beyond int32. On a GPU
/// by cuBLASLt, if k and n are multiples of 4, a's rows and b's columns lie without gaps, and both begin at multiples
/// of 16 bytes, else by a kernel of kiln's own. Throws shape_error where sizes do not fit.
template <class Device>
Tensor<std::int32_t, Device> int_matmul(const Tensor<std::int8_t, Device>& a, const Tensor<std::int8_t, Device>& b) {
  detail::check_8bit_product("int_matmul", a.sizes(), b.sizes());
  if constexpr (requires { &float8_products<Device>::multiply_int8; }) {
    auto out = detail::empty_near<std::int32_t>(dims{a.size(0), b.size(1)}, a);
    if (float8_products<Device>::multiply_int8(a, b, out)) return out;
  }
  return matmul(cast<std::int32_t>(a), cast<std::int32_t>(b));
}

}  // namespace kiln
