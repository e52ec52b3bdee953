// SPDX-License-Identifier: BSL-1.0
// Whether two tensors are the same: equal and allclose as one bool, isclose for each element.
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
  return full<double, decltype(device_of(x))>({}, static_cast<double>(value), device_of(x));
}

/// What f makes of both in double, of which one may be a number. Throws shape_error where they do not broadcast.
template <class A, class B, class F>
auto both_in_double(const A& a, const B& b, const char* where, F f) {
  if constexpr (Number<B>) {
    return f(cast<double>(a), number_beside(a, b));
  } else if constexpr (Number<A>) {
    return f(number_beside(b, a), cast<double>(b));
  } else {
    dims sizes = shape_of(a);
    broadcast_into(sizes, shape_of(b), where);
    return f(cast<double>(a), cast<double>(b));
  }
}

// Of something infinite all is within infinitely much: only itself will do.
constexpr auto within(const auto& values, const auto& wanted, double relative, double absolute) {
  return (values == wanted) | ((abs(values - wanted) <= absolute + relative * abs(wanted)) & isfinite(wanted));
}
}  // namespace detail

/// Where elements differ by no more than absolute + relative * |b|: numpy.isclose. Lazy, computed in double. Operands
/// broadcast, numbers will do; infinities are close to themselves, a nan to nothing, or with `equal_nan` to a nan.
/// Throws shape_error where operands do not broadcast.
template <class A, class B>
  requires Operands<A, B>
auto isclose(const A& a, const B& b, double relative = 1e-5, double absolute = 1e-8, bool equal_nan = false) {
  return detail::both_in_double(a, b, "isclose", [=](const auto& values, const auto& wanted) {
    return detail::within(values, wanted, relative, absolute) | (isnan(values) & isnan(wanted) & equal_nan);
  });
}

/// Whether all elements differ by no more than absolute + relative * |b|, numpy.allclose: all of isclose. Throws
/// shape_error where operands do not broadcast.
template <class A, class B>
  requires Operands<A, B>
bool allclose(const A& a, const B& b, double relative = 1e-5, double absolute = 1e-8) {
  return detail::both_in_double(a, b, "allclose", [=](const auto& values, const auto& wanted) {
    return detach(all(detail::within(values, wanted, relative, absolute))).item();
  });
}

}  // namespace kiln
