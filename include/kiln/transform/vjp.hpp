// SPDX-License-Identifier: BSL-1.0
// vjp(f, x...): the value of a function, and what takes the gradient of the value to those of the arguments.
#pragma once

#include <tuple>
#include <utility>

#include <kiln/transform/plain.hpp>
#include <kiln/transform/reverse.hpp>

namespace kiln {

/// f's value at x, and its pullback: a function that, given the gradient of some quantity by the value, returns the
/// gradients by the arguments: one, or a tuple. Of plain numbers f must be generic.
template <class F, detail::PlainInput... X>
constexpr auto vjp(F f, const X&... x) {
  const auto e = detail::trace(f, x...);
  using Program =
      detail::traced_value<detail::inputs_of<F>, std::remove_const_t<decltype(e)>, static_cast<int>(sizeof...(X))>;
  const auto value = detail::plain_run<Program, detail::inputs_of<F>>(e, x...).template get<0>();
  return std::pair{value, detail::plain_pullback<F, X...>{std::move(f), {x...}}};
}

/// The same of tensors: the gradient of some loss by each result, of that result's shape, gives the gradients of the
/// loss by the arguments. A function with several results returns them as a tuple; the pullback then takes as many. It
/// may be called again and keeps what it reads until it is gone. Throws shape_error for a gradient of another shape.
template <class F, class... X>
  requires(detail::TensorInput<X> || ...)
auto vjp(F f, const X&... x) {
  return detail::vjp_call(f, x...);
}

}  // namespace kiln
