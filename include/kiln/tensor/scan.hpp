// SPDX-License-Identifier: BSL-1.0
// Running sums and products along an axis: cumsum and cumprod, PyTorch's functions and their rules, with gradients.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/core/line_job.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cpu/drivers.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/op_node.hpp>
#include <kiln/tensor/recorder.hpp>
#include <kiln/tensor/transfer.hpp>

namespace kiln {

namespace detail {

/// What does the jobs of an element type, as plain data.
struct running_functions {
  void (*run)(const running_job& job);
  void (*product_gradient)(const running_product_gradient_job& job);
  const device_functions* device;
};
template <class T, class Device>
inline constexpr running_functions running_functions_of{
    &cpu::drivers::run_running<T>, &cpu::drivers::run_running_product_gradient<T>, &functions_of<Device>};

/// The job that reads one tensor and writes another of its sizes.
running_job running_job_of(const tensor_state& from, tensor_state& to, int axis);
/// The job of the gradient of running products of x.
running_product_gradient_job running_product_gradient_job_of(const void* x, const dims& x_strides,
                                                             const tensor_state& gradient, tensor_state& to, int axis);

/// Of a running sum from either end: each is the gradient of the other.
class running_sum_node final : public op_node_of<1> {
 public:
  running_sum_node(int axis, bool backwards, ref<gradient_record> record, const running_functions& functions)
      : op_node_of(*functions.device), axis_(axis), backwards_(backwards), functions_(functions) {
    input[0] = std::move(record);
  }
  const char* name() const override { return "cumsum"; }
  // KILN_INLINE for the reason that graph_node gives.
  KILN_INLINE void backward(const ref<tensor_state>& gradient) override;
  [[gnu::cold]] KILN_INLINE void backward_recorded(const ref<tensor_state>& gradient,
                                                   const ref<gradient_record>&) override;

 private:
  void run(const tensor_state& from, tensor_state& to, bool add) const;

  int axis_;
  bool backwards_;
  const running_functions& functions_;
};

class running_product_node final : public op_node_of<1, 1> {
 public:
  running_product_node(int axis, const tensor_state& x, const running_functions& functions)
      : op_node_of(*functions.device), axis_(axis), functions_(functions) {
    input[0] = x.autograd_metadata;
    saved[0].save(x);
  }
  const char* name() const override { return "cumprod"; }
  KILN_INLINE void backward(const ref<tensor_state>& gradient) override;

 private:
  int axis_;
  const running_functions& functions_;
};

template <class T>
using running_result_t = std::conditional_t<is_floating(dtype_of<T>), T, std::int64_t>;

template <bool Product, Expression X>
Tensor<running_result_t<typename X::value_type>, typename X::device_type> running(const X& x, std::int64_t axis,
                                                                                  const char* where) {
  using T = typename X::value_type;
  using R = running_result_t<T>;
  using Device = typename X::device_type;
  if constexpr (any_transformed<X>) {
    static_assert(
        never<X>,
        "kiln: cumsum and cumprod have no meaning within vmap and jvp yet: call them with an axis on the whole "
        "batch, outside, or multiply by tril(ones(n, n)) for a running sum");
    return {};
  } else if constexpr (!executor<Device>::on_host) {
    const auto on_device = as_tensor(x);
    return running<Product>(on_device.to(Cpu{}), axis, where).to(on_device.device());
  } else {
    const auto from = as_tensor(x);
    const int along = normalize_axis(axis, from.dim(), where);
    const ref<tensor_state> out = executor<Device>::new_tensor(dtype_of<R>, from.sizes(), *from.state()->memory);
    running_job job = running_job_of(*from.state(), *out, along);
    job.product = Product;
    job.in_int64 = !std::is_same_v<T, R>;
    cpu::drivers::run_running<T>(job);
    if constexpr (is_floating(dtype_of<T>)) {
      if (grad_enabled() && from.needs_grad()) {
        if constexpr (Product)
          set_producer(*out, new running_product_node(along, *from.state(), running_functions_of<T, Device>));
        else
          set_producer(*out, new running_sum_node(along, false, from.state()->autograd_metadata,
                                                  running_functions_of<T, Device>));
      }
    }
    return Tensor<R, Device>(out);
  }
}

}  // namespace detail

/// The sums of the elements along an axis up to each, itself included: torch.cumsum. Of integers and bool they are
/// int64; of float they are made in double. Of another device, on the host. Throws index_error for the axis.
template <Expression X>
auto cumsum(const X& x, std::int64_t axis) {
  return detail::running<false>(x, axis, "cumsum");
}
/// The same of products: torch.cumprod. Its gradient is right where elements are 0 too.
template <Expression X>
auto cumprod(const X& x, std::int64_t axis) {
  return detail::running<true>(x, axis, "cumprod");
}

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/tensor/scan_impl.hpp>
#endif
