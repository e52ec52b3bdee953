// SPDX-License-Identifier: BSL-1.0
// grad(f) and value_and_grad(f): the gradient of a function as a function.
#pragma once

#include <utility>

#include <kiln/transform/plain.hpp>
#include <kiln/transform/reverse.hpp>

namespace kiln {

/// What grad(f) returns: call it with f's arguments.
template <class F, bool WithValue, int... Wanted>
struct gradient_function {
  F f;
  template <class... X>
  constexpr auto operator()(const X&... x) const {
    return detail::gradient_call<WithValue, Wanted...>(f, x...);
  }
};

/// The gradient of f by its first argument, as a function of all its arguments; `grad<1>(f)` by its second,
/// `grad<0, 2>(f)` by first and third, as a tuple.
///
/// Of plain floats and doubles f must be generic, `[](auto x) { return x * sin(x); }`; it is looked at while compiling,
/// and nothing is left of that when the gradient runs. float arguments give float results.
///
/// Of tensors f must return one element (graph_error if not). Other arguments, tensors or not, are handed on. Nothing
/// is added to anybody's grad().
template <int... Wanted, class F>
constexpr auto grad(F f) {
  if constexpr (sizeof...(Wanted) == 0)
    return gradient_function<F, false, 0>{std::move(f)};
  else
    return gradient_function<F, false, Wanted...>{std::move(f)};
}
/// As grad, but the function returns a pair: f's value, and its gradient (or gradients).
template <int... Wanted, class F>
constexpr auto value_and_grad(F f) {
  if constexpr (sizeof...(Wanted) == 0)
    return gradient_function<F, true, 0>{std::move(f)};
  else
    return gradient_function<F, true, Wanted...>{std::move(f)};
}

}  // namespace kiln
