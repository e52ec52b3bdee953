// SPDX-License-Identifier: BSL-1.0
// Whether two tensors are the same, as one bool: equal, allclose.
#pragma once

#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln {

/// Whether two tensors or expressions have the same sizes and equal elements, as one bool for a condition:
/// `if (equal(a, b))`. A nan equals nothing. (`a == b` is a tensor of truth values.)
template <Expression A, Expression B>
bool equal(const A& a, const B& b) {
  if (shape_of(a) != shape_of(b)) return false;
  return detach(all(a == b)).item();
}

namespace detail {
/// A 0-d tensor of a number, on the device of x.
template <Expression X, Number S>
auto number_beside(const X& x, S value) {
  return full<double, typename X::device_type>({}, static_cast<double>(value), device_of(x));
}
}  // namespace detail

/// Whether all elements differ by no more than absolute + relative * |b|, numpy.allclose. Operands broadcast, numbers
/// will do; infinities are close to themselves, a nan to nothing. Throws shape_error where operands do not broadcast.
template <class A, class B>
  requires Operands<A, B>
bool allclose(const A& a, const B& b, double relative = 1e-5, double absolute = 1e-8) {
  // Of something infinite all is within infinitely much: only itself will do.
  const auto close = [&](const auto& values, const auto& wanted) {
    return detach(all((values == wanted) |
                      ((abs(values - wanted) <= absolute + relative * abs(wanted)) & isfinite(wanted))))
        .item();
  };
  if constexpr (Number<B>)
    return close(cast<double>(a), detail::number_beside(a, b));
  else if constexpr (Number<A>)
    return close(detail::number_beside(b, a), cast<double>(b));
  else
    return close(cast<double>(a), cast<double>(b));
}

}  // namespace kiln
