// SPDX-License-Identifier: BSL-1.0
// Reductions and row functions of tensors: over all axes, one, or several; with keepdim the reduced axes stay, of size
// 1. They return lazy expressions: what stands below a reduction runs inside its kernel.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include <kiln/expr/shape.hpp>
#include <kiln/ops/normalization.hpp>

namespace kiln {

/// Axes to reduce over: none given means all; one number or a list, negative ones counting from the end.
class axes {
 public:
  axes() = default;
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  axes(I axis) : list_{axis}, all_(false) {}
  // Not possible, each with a sentence on what to write.
  template <std::same_as<bool> B>
  axes(B) {
    static_assert(detail::never<B>,
                  "kiln: true or false is no axis. To keep reduced axes, name axes first: "
                  "sum(x, 1, true), or sum(x, {}, true) for all");
  }
  template <Expression X>
  axes(const X&) {
    static_assert(detail::never<X>,
                  "kiln: a tensor is no axis: the larger of two tensors is maximum(a, b), the smaller "
                  "minimum(a, b)");
  }
  template <std::floating_point F>
  axes(F) {
    static_assert(detail::never<F>,
                  "kiln: a number with a fraction is no axis: the larger of an element and a number is "
                  "maximum(a, 0.5f), the smaller minimum(a, 0.5f)");
  }
  axes(std::initializer_list<detail::whole_number> list) : list_(list), all_(false) {}
  /// A vector, array or span of axes.
  template <detail::WholeNumbers R>
  axes(const R& list) : list_(list), all_(false) {}
  /// Bit i set for axis i. Throws index_error for an axis out of range, value_error for one named twice.
  std::uint32_t mask(int rank, const char* where) const {
    if (all_) return (1u << rank) - 1;
    std::uint32_t bits = 0;
    for (std::int64_t axis : list_) {
      const int i = normalize_axis(axis, rank, where);
      if (bits >> i & 1) throw value_error(message(where, ": axis ", axis, " is named twice in ", list_));
      bits |= 1u << i;
    }
    return rank == 0 ? 0 : bits;
  }

 private:
  dims list_;
  bool all_ = true;
};

namespace detail {

template <class Op, Expression X>
auto over_axes(X x, const axes& which, bool keepdim, std::array<double, 2> numbers = {},
               const char* where = Op::name.data()) {
  constexpr dtype common = Op::common(dtype_of<typename X::value_type>);
  const std::uint32_t mask = which.mask(shape_of(x).rank(), where);
  auto operand = converted<element_t<common>>(std::move(x));
  return row_node<Op, decltype(operand)>{{}, std::move(operand), mask, keepdim, numbers};
}

/// How many elements one reduction folds.
template <Expression X>
double elements_along(const X& x, const axes& which, const char* where) {
  const dims sizes = shape_of(x);
  const std::uint32_t mask = which.mask(sizes.rank(), where);
  double n = 1;  // beside an axis of size 0, others may have any size
  for (int i = 0; i < sizes.rank(); ++i)
    if (mask >> i & 1) n *= static_cast<double>(sizes[i]);
  return n;
}

template <Expression X>
auto as_floating(X x) {
  using T = typename X::value_type;
  return converted<std::conditional_t<is_floating(dtype_of<T>), T, float>>(std::move(x));
}

template <class S>
int not_a_list() {
  static_assert(
      never<S>,
      "kiln: a list of numbers is no tensor yet: write sum(Tensor<float>{1, 2}), or tensor(values) of a vector; "
      "the larger of two tensors is maximum(a, b), the smaller minimum(a, b)");
  return 0;
}
}  // namespace detail

/// Not possible: a list in braces has no element type yet. So of prod, mean, max and min.
template <class S>
int sum(std::initializer_list<S>, const axes& = {}, bool = false) {
  return detail::not_a_list<S>();
}
/// Not possible, as sum({...}).
template <class S>
int prod(std::initializer_list<S>, const axes& = {}, bool = false) {
  return detail::not_a_list<S>();
}
/// Not possible, as sum({...}).
template <class S>
int mean(std::initializer_list<S>, const axes& = {}, bool = false) {
  return detail::not_a_list<S>();
}
/// Not possible, as sum({...}).
template <class S>
int max(std::initializer_list<S>, const axes& = {}, bool = false) {
  return detail::not_a_list<S>();
}
/// Not possible, as sum({...}).
template <class S>
int min(std::initializer_list<S>, const axes& = {}, bool = false) {
  return detail::not_a_list<S>();
}

/// Sum; integers and bool as int64. The sum of nothing is 0. Floats are added in short runs that are joined in double.
template <Expression X>
auto sum(X x, axes over = {}, bool keepdim = false) {
  return detail::over_axes<sum_op>(std::move(x), over, keepdim);
}
/// Product; integers and bool as int64. The product of nothing is 1. The value is the plain product, in an order of its
/// own, as in PyTorch: a part of it may over- or underflow though the whole does not. Gradients do not.
template <Expression X>
auto prod(X x, axes over = {}, bool keepdim = false) {
  return detail::over_axes<prod_op>(std::move(x), over, keepdim);
}
/// Largest value; nan if one is among them. Throws value_error, when evaluated, if there are no elements.
template <Expression X>
auto max(X x, axes over = {}, bool keepdim = false) {
  return detail::over_axes<max_op>(std::move(x), over, keepdim);
}
/// Smallest value; nan if one is among them. Throws value_error, when evaluated, if there are no elements.
template <Expression X>
auto min(X x, axes over = {}, bool keepdim = false) {
  return detail::over_axes<min_op>(std::move(x), over, keepdim);
}
/// Whether any element is true (not zero).
template <Expression X>
auto any(X x, axes over = {}, bool keepdim = false) {
  return detail::over_axes<any_op>(std::move(x), over, keepdim);
}
/// Whether all elements are true (not zero).
template <Expression X>
auto all(X x, axes over = {}, bool keepdim = false) {
  return detail::over_axes<all_op>(std::move(x), over, keepdim);
}
/// Number of elements that are not zero, as int64.
template <Expression X>
auto count_nonzero(X x, axes over = {}, bool keepdim = false) {
  if constexpr (std::is_same_v<typename X::value_type, bool>)
    return detail::over_axes<sum_op>(cast<std::int64_t>(std::move(x)), over, keepdim, {}, "count_nonzero");
  else
    return detail::over_axes<sum_op>(cast<std::int64_t>(std::move(x) != 0), over, keepdim, {}, "count_nonzero");
}
/// Arithmetic mean; integers as float32. The mean of nothing is nan.
template <Expression X>
auto mean(X x, axes over = {}, bool keepdim = false) {
  const double n = detail::elements_along(x, over, "mean");
  return sum(detail::as_floating(std::move(x)), over, keepdim) / n;
}
/// Variance, with n - correction in the denominator (1: the unbiased estimate). Two passes over each row.
template <Expression X>
auto var(X x, axes over = {}, bool keepdim = false, double correction = 1) {
  const double n = detail::elements_along(x, over, "var");
  return detail::over_axes<squared_deviation_op>(std::move(x), over, keepdim, {n, 0}) / std::max(n - correction, 0.0);
}
/// Standard deviation: the square root of var. Where it is 0, its gradient is taken to be 0, as in PyTorch.
template <Expression X>
auto std(X x, axes over = {}, bool keepdim = false, double correction = 1) {
  const double n = detail::elements_along(x, over, "std");
  return detail::over_axes<standard_deviation_op>(std::move(x), over, keepdim, {n, std::max(n - correction, 0.0)});
}
/// The same as std, by a name that `using namespace kiln` does not make ambiguous with the namespace std.
template <Expression X>
auto stddev(X x, axes over = {}, bool keepdim = false, double correction = 1) {
  return kiln::std(std::move(x), over, keepdim, correction);
}
/// log(sum(exp(x))) without overflow; -inf for nothing but -inf, and for nothing.
template <Expression X>
auto logsumexp(X x, axes over = {}, bool keepdim = false) {
  return detail::over_axes<logsumexp_op>(std::move(x), over, keepdim);
}
/// The Euclidean norm, sqrt(sum(x * x)). Its gradient at 0 is 0, as in PyTorch.
template <Expression X>
auto norm(X x, axes over = {}, bool keepdim = false) {
  return apply<root_op>(
      detail::over_axes<sum_op>(square(detail::as_floating(std::move(x))), over, keepdim, {}, "norm"));
}

/// exp(x) / sum(exp(x)) along the axes.
template <Expression X>
auto softmax(X x, axes over = -1) {
  return detail::over_axes<softmax_op>(std::move(x), over, true);
}
/// log(softmax(x)) without loss of accuracy.
template <Expression X>
auto log_softmax(X x, axes over = -1) {
  return detail::over_axes<log_softmax_op>(std::move(x), over, true);
}
/// (x - mean) / sqrt(variance + eps) along the axes; multiply and add to scale and shift (Ba et al. 2016).
template <Expression X>
auto layer_norm(X x, axes over = -1, double eps = 1e-5) {
  const double n = detail::elements_along(x, over, "layer_norm");
  return detail::over_axes<layer_norm_op>(std::move(x), over, true, {n, eps});
}
/// x / sqrt(mean(x * x) + eps) along the axes (Zhang and Sennrich 2019).
template <Expression X>
auto rms_norm(X x, axes over = -1, double eps = 1e-6) {
  const double n = detail::elements_along(x, over, "rms_norm");
  return detail::over_axes<rms_norm_op>(std::move(x), over, true, {n, eps});
}

}  // namespace kiln
