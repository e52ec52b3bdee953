// SPDX-License-Identifier: BSL-1.0
// All derivatives of a function at once: jacobians by reverse and by forward mode, hessians, and products of these with
// vectors.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include <kiln/tensor/creation.hpp>
#include <kiln/transform/gradient.hpp>
#include <kiln/transform/jvp.hpp>
#include <kiln/transform/vjp.hpp>
#include <kiln/transform/vmap.hpp>

namespace kiln {

namespace detail {

template <class Device>
struct bottom_of : std::type_identity<Device> {};
template <TransformDevice Device>
struct bottom_of<Device> : bottom_of<typename Device::below> {};

/// All tensors of a shape that have one element of 1 and are 0 elsewhere, along a new first axis.
template <class T, class Device>
auto unit_tensors(const dims& sizes) {
  const std::int64_t n = count(sizes);
  dims all = sizes;
  all.insert(0, n);
  return eye<T, typename bottom_of<Device>::type>(n).reshape(all);
}
inline dims joined_sizes(const dims& a, const dims& b) {
  dims all = a;
  for (int i = 0; i < b.rank(); ++i) all.push_back(b[i]);
  return all;
}
template <class R>
dims sizes_of_result(const R& r) {
  static_assert(Expression<R>, "kiln: jacobian differentiates functions that return one tensor");
  return shape_of(r);
}

}  // namespace detail

/// The jacobian of f by reverse mode, as a function of f's argument x: element (i..., j...) is the derivative of
/// element i... of f(x) by element j... of x. As many backward passes as f(x) has elements run as one batch: for
/// functions with fewer results than arguments.
template <class F>
auto jacrev(F f) {
  return [f = std::move(f)](const auto& argument) {
    const auto x = detail::as_tensor(argument);
    using R = decltype(f(x));
    const dims result = detail::sizes_of_result(f(x));
    const auto units = detail::unit_tensors<typename R::value_type, typename R::device_type>(result);
    dims copies = x.sizes();
    copies.insert(0, count(result));
    auto row = [&](const auto& g, const auto& at) { return vjp(f, at).second(g); };
    const auto rows = vmap(row)(units, expand(unsqueeze(x, 0), copies));
    return reshape(rows, detail::joined_sizes(result, x.sizes()));
  };
}
/// The jacobian by forward mode, for functions with fewer arguments than results.
template <class F>
auto jacfwd(F f) {
  return [f = std::move(f)](const auto& argument) {
    const auto x = detail::as_tensor(argument);
    using X = std::remove_const_t<decltype(x)>;
    const auto units = detail::unit_tensors<typename X::value_type, typename X::device_type>(x.sizes());
    auto column = [&](const auto& dx, const auto& at) { return jvp(f, at, dx).second; };
    const auto columns = vmap(column, std::tuple{0, unmapped}, -1)(units, x);
    dims result = columns.sizes();
    result.erase(result.rank() - 1);
    return reshape(columns, detail::joined_sizes(result, x.sizes()));
  };
}
/// The jacobian, by reverse mode.
template <class F>
auto jacobian(F f) {
  return jacrev(std::move(f));
}
/// The matrix of second derivatives of f, whose value has one element: forward mode over reverse mode. Element
/// (i..., j...) is the derivative by elements i... and j... of x.
template <class F>
auto hessian(F f) {
  return jacfwd(grad(std::move(f)));
}
/// jacobian(f)(x).
template <class F, Expression X>
auto jacobian(F f, const X& x) {
  return jacobian(std::move(f))(x);
}
/// hessian(f)(x).
template <class F, Expression X>
auto hessian(F f, const X& x) {
  return hessian(std::move(f))(x);
}
/// The hessian of f at x times v, without the hessian: about four times the cost of f.
template <class F, Expression X, Expression V>
auto hvp(F f, const X& x, const V& v) {
  return jvp(grad(std::move(f)), x, v).second;
}

}  // namespace kiln
