// SPDX-License-Identifier: BSL-1.0
// Running sums and products along a dimension, and their gradients.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/dynamic/custom.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/tensor/scan.hpp>

namespace kiln::k::running {

/// Running sums or products along an axis, or those from the end; results are of x's type.
inline tensor run(const tensor& x, std::int64_t axis, bool product, bool backwards = false) {
  const tensor whole = x.contiguous();
  static_cast<void>(whole.data());  // is on the host
  ref<tensor_state> made = new_tensor(whole.type(), whole.sizes());
  running_job job = kiln::detail::running_job_of(*whole.state(), *made, static_cast<int>(axis));
  job.product = product;
  job.backwards = backwards;
  visit_dtype(whole.type(), [&]<class T>(std::type_identity<T>) { cpu::drivers::run_running<T>(job); });
  return tensor::of(std::move(made));
}

/// Those of a line of x, given those of its running products.
inline tensor product_gradient(const tensor& x, const tensor& gradient, std::int64_t axis) {
  const tensor whole = x.contiguous(), g = gradient.to(x.type()).contiguous();
  static_cast<void>(g.data());
  ref<tensor_state> made = new_tensor(whole.type(), whole.sizes());
  const auto job = kiln::detail::running_product_gradient_job_of(whole.data(), whole.state()->strides, *g.state(),
                                                                 *made, static_cast<int>(axis));
  visit_dtype(whole.type(), [&]<class T>(std::type_identity<T>) {
    if constexpr (is_floating(dtype_of<T>)) cpu::drivers::run_running_product_gradient<T>(job);
  });
  return tensor::of(std::move(made));
}

/// cumsum and cumprod: (x[;dim][;dtype][;out]), along the last dimension unless another is named; those of integers are
/// long.
inline object cumulated(std::string_view name, object x) {
  arguments given(name, x, 1, 4, long_trailing | symbol_trailing | output_trailing);
  const output out = given.take_output();
  const auto type = given.take_dtype();
  const std::int64_t wanted = given.take_long().value_or(-1);
  given.none_left(1);
  const operand found = given.operand_at(0);
  const dtype natural = is_floating(found.value.type()) ? found.value.type() : dtype::int64;
  const tensor source = found.value.to(type.value_or(natural));
  const std::int64_t axis = source.dim() == 0 ? 0 : normalize_axis(wanted, source.dim(), std::string(name).c_str());
  const bool product = name == "cumprod";
  tensor result = run(source.detach(), axis, product);
  if (is_floating(source.type()))
    result = dynamic::with_gradient(
        std::string(name), result, {source},
        [axis, product, values = source.detach()](const tensor& g) -> std::vector<tensor> {
          return {product ? product_gradient(values, g, axis) : run(g, axis, false, true)};
        },
        product ? std::vector<tensor>{source} : std::vector<tensor>{});
  return respond(std::move(result), found.handle, out);
}

}  // namespace kiln::k::running

namespace kiln::k {

inline void offer_running(registry& r) {
  r.offer("cumsum", running::cumulated);
  r.offer("cumprod", running::cumulated);
}

}  // namespace kiln::k
