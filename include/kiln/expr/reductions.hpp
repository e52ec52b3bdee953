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
  axes(std::int64_t axis) : list_{axis}, all_(false) {}
  axes(int axis) : axes(static_cast<std::int64_t>(axis)) {}
  axes(std::initializer_list<std::int64_t> list) : list_(list), all_(false) {}
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
auto over_axes(X x, const axes& which, bool keepdim, std::array<double, 2> numbers = {}) {
  constexpr dtype common = Op::common(dtype_of<typename X::value_type>);
  const std::uint32_t mask = which.mask(shape_of(x).rank(), Op::name.data());
  auto operand = converted<element_t<common>>(std::move(x));
  return row_node<Op, decltype(operand)>{std::move(operand), mask, keepdim, numbers};
}

/// Elements that one reduction folds.
template <Expression X>
std::int64_t elements_along(const X& x, const axes& which, const char* where) {
  const dims sizes = shape_of(x);
  const std::uint32_t mask = which.mask(sizes.rank(), where);
  std::int64_t n = 1;
  for (int i = 0; i < sizes.rank(); ++i)
    if (mask >> i & 1) n *= sizes[i];
  return n;
}

template <Expression X>
auto as_floating(X x) {
  using T = typename X::value_type;
  return converted<std::conditional_t<is_floating(dtype_of<T>), T, float>>(std::move(x));
}

}  // namespace detail

/// Sum; integers and bool as int64. The sum of nothing is 0. Floats are added in short runs that are joined in double.
template <Expression X>
auto sum(X x, axes over = {}, bool keepdim = false) {
  return detail::over_axes<sum_op>(std::move(x), over, keepdim);
}
/// Product; integers and bool as int64. The product of nothing is 1.
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
  return sum(cast<std::int64_t>(std::move(x) != 0), over, keepdim);
}
/// Arithmetic mean; integers as float32. The mean of nothing is nan.
template <Expression X>
auto mean(X x, axes over = {}, bool keepdim = false) {
  const double n = static_cast<double>(detail::elements_along(x, over, "mean"));
  return sum(detail::as_floating(std::move(x)), over, keepdim) * (1 / n);
}
/// Variance, with n - correction in the denominator (1: the unbiased estimate). Two passes over each row.
template <Expression X>
auto var(X x, axes over = {}, bool keepdim = false, double correction = 1) {
  const double n = static_cast<double>(detail::elements_along(x, over, "var"));
  return detail::over_axes<squared_deviation_op>(std::move(x), over, keepdim, {1 / n, 0}) /
         std::max(n - correction, 0.0);
}
/// Standard deviation: the square root of var. Where it is 0, its gradient is taken to be 0, as in PyTorch.
template <Expression X>
auto std(X x, axes over = {}, bool keepdim = false, double correction = 1) {
  return apply<root_op>(var(std::move(x), over, keepdim, correction));
}
/// log(sum(exp(x))) without overflow; -inf for nothing but -inf. Throws value_error, when evaluated, if there are no
/// elements.
template <Expression X>
auto logsumexp(X x, axes over = {}, bool keepdim = false) {
  return detail::over_axes<logsumexp_op>(std::move(x), over, keepdim);
}
/// The Euclidean norm, sqrt(sum(x * x)). Its gradient at 0 is 0, as in PyTorch.
template <Expression X>
auto norm(X x, axes over = {}, bool keepdim = false) {
  return apply<root_op>(sum(square(detail::as_floating(std::move(x))), over, keepdim));
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
  const double n = static_cast<double>(detail::elements_along(x, over, "layer_norm"));
  return detail::over_axes<layer_norm_op>(std::move(x), over, true, {1 / n, eps});
}
/// x / sqrt(mean(x * x) + eps) along the axes (Zhang and Sennrich 2019).
template <Expression X>
auto rms_norm(X x, axes over = -1, double eps = 1e-6) {
  const double n = static_cast<double>(detail::elements_along(x, over, "rms_norm"));
  return detail::over_axes<rms_norm_op>(std::move(x), over, true, {1 / n, eps});
}

}  // namespace kiln
