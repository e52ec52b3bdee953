// SPDX-License-Identifier: BSL-1.0
// Functions of elements and reductions as members of tensors and expressions: x.sum() is sum(x).
#pragma once

#include <kiln/expr/methods.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>

namespace kiln {

template <class X>
auto common_methods<X>::abs() const {
  return kiln::abs(self());
}
template <class X>
auto common_methods<X>::sign() const {
  return kiln::sign(self());
}
template <class X>
auto common_methods<X>::floor() const {
  return kiln::floor(self());
}
template <class X>
auto common_methods<X>::ceil() const {
  return kiln::ceil(self());
}
template <class X>
auto common_methods<X>::round() const {
  return kiln::round(self());
}
template <class X>
auto common_methods<X>::trunc() const {
  return kiln::trunc(self());
}
template <class X>
auto common_methods<X>::exp() const {
  return kiln::exp(self());
}
template <class X>
auto common_methods<X>::expm1() const {
  return kiln::expm1(self());
}
template <class X>
auto common_methods<X>::log() const {
  return kiln::log(self());
}
template <class X>
auto common_methods<X>::log1p() const {
  return kiln::log1p(self());
}
template <class X>
auto common_methods<X>::log2() const {
  return kiln::log2(self());
}
template <class X>
auto common_methods<X>::log10() const {
  return kiln::log10(self());
}
template <class X>
auto common_methods<X>::sqrt() const {
  return kiln::sqrt(self());
}
template <class X>
auto common_methods<X>::rsqrt() const {
  return kiln::rsqrt(self());
}
template <class X>
auto common_methods<X>::square() const {
  return kiln::square(self());
}
template <class X>
auto common_methods<X>::reciprocal() const {
  return kiln::reciprocal(self());
}
template <class X>
auto common_methods<X>::sin() const {
  return kiln::sin(self());
}
template <class X>
auto common_methods<X>::cos() const {
  return kiln::cos(self());
}
template <class X>
auto common_methods<X>::tan() const {
  return kiln::tan(self());
}
template <class X>
auto common_methods<X>::asin() const {
  return kiln::asin(self());
}
template <class X>
auto common_methods<X>::acos() const {
  return kiln::acos(self());
}
template <class X>
auto common_methods<X>::atan() const {
  return kiln::atan(self());
}
template <class X>
auto common_methods<X>::sinh() const {
  return kiln::sinh(self());
}
template <class X>
auto common_methods<X>::cosh() const {
  return kiln::cosh(self());
}
template <class X>
auto common_methods<X>::tanh() const {
  return kiln::tanh(self());
}
template <class X>
auto common_methods<X>::erf() const {
  return kiln::erf(self());
}
template <class X>
auto common_methods<X>::erfc() const {
  return kiln::erfc(self());
}
template <class X>
auto common_methods<X>::sigmoid() const {
  return kiln::sigmoid(self());
}
template <class X>
auto common_methods<X>::relu() const {
  return kiln::relu(self());
}
template <class X>
auto common_methods<X>::isnan() const {
  return kiln::isnan(self());
}
template <class X>
auto common_methods<X>::isinf() const {
  return kiln::isinf(self());
}
template <class X>
auto common_methods<X>::isfinite() const {
  return kiln::isfinite(self());
}
template <class X>
auto common_methods<X>::logical_not() const {
  return kiln::logical_not(self());
}
template <class X>
template <class Y>
auto common_methods<X>::pow(const Y& exponent) const {
  return kiln::pow(self(), exponent);
}
template <class X>
template <class Y>
auto common_methods<X>::maximum(const Y& other) const {
  return kiln::maximum(self(), other);
}
template <class X>
template <class Y>
auto common_methods<X>::minimum(const Y& other) const {
  return kiln::minimum(self(), other);
}
template <class X>
template <class... Bounds>
auto common_methods<X>::clamp(const Bounds&... bounds) const {
  return kiln::clamp(self(), bounds...);
}

template <class X>
auto common_methods<X>::sum() const {
  return kiln::sum(self());
}
template <class X>
auto common_methods<X>::sum(const axes& over, bool keepdim) const {
  return kiln::sum(self(), over, keepdim);
}
template <class X>
auto common_methods<X>::mean() const {
  return kiln::mean(self());
}
template <class X>
auto common_methods<X>::mean(const axes& over, bool keepdim) const {
  return kiln::mean(self(), over, keepdim);
}
template <class X>
auto common_methods<X>::prod() const {
  return kiln::prod(self());
}
template <class X>
auto common_methods<X>::prod(const axes& over, bool keepdim) const {
  return kiln::prod(self(), over, keepdim);
}
template <class X>
auto common_methods<X>::max() const {
  return kiln::max(self());
}
template <class X>
auto common_methods<X>::max(const axes& over, bool keepdim) const {
  return kiln::max(self(), over, keepdim);
}
template <class X>
auto common_methods<X>::min() const {
  return kiln::min(self());
}
template <class X>
auto common_methods<X>::min(const axes& over, bool keepdim) const {
  return kiln::min(self(), over, keepdim);
}
template <class X>
auto common_methods<X>::any() const {
  return kiln::any(self());
}
template <class X>
auto common_methods<X>::any(const axes& over, bool keepdim) const {
  return kiln::any(self(), over, keepdim);
}
template <class X>
auto common_methods<X>::all() const {
  return kiln::all(self());
}
template <class X>
auto common_methods<X>::all(const axes& over, bool keepdim) const {
  return kiln::all(self(), over, keepdim);
}
template <class X>
auto common_methods<X>::var() const {
  return kiln::var(self());
}
template <class X>
auto common_methods<X>::var(const axes& over, bool keepdim, double correction) const {
  return kiln::var(self(), over, keepdim, correction);
}
template <class X>
auto common_methods<X>::std() const {
  return kiln::std(self());
}
template <class X>
auto common_methods<X>::std(const axes& over, bool keepdim, double correction) const {
  return kiln::std(self(), over, keepdim, correction);
}
template <class X>
auto common_methods<X>::count_nonzero() const {
  return kiln::count_nonzero(self());
}
template <class X>
auto common_methods<X>::count_nonzero(const axes& over, bool keepdim) const {
  return kiln::count_nonzero(self(), over, keepdim);
}
template <class X>
auto common_methods<X>::norm() const {
  return kiln::norm(self());
}
template <class X>
auto common_methods<X>::norm(const axes& over, bool keepdim) const {
  return kiln::norm(self(), over, keepdim);
}
template <class X>
auto common_methods<X>::logsumexp() const {
  return kiln::logsumexp(self());
}
template <class X>
auto common_methods<X>::logsumexp(const axes& over, bool keepdim) const {
  return kiln::logsumexp(self(), over, keepdim);
}
template <class X>
auto common_methods<X>::softmax(const axes& over) const {
  return kiln::softmax(self(), over);
}
template <class X>
auto common_methods<X>::log_softmax(const axes& over) const {
  return kiln::log_softmax(self(), over);
}

}  // namespace kiln
