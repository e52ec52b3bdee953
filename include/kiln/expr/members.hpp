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
auto common_methods<X>::exp() const {
  return kiln::exp(self());
}
template <class X>
auto common_methods<X>::log() const {
  return kiln::log(self());
}
template <class X>
auto common_methods<X>::sqrt() const {
  return kiln::sqrt(self());
}
template <class X>
auto common_methods<X>::square() const {
  return kiln::square(self());
}
template <class X>
auto common_methods<X>::tanh() const {
  return kiln::tanh(self());
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
template <class Y>
auto common_methods<X>::pow(const Y& exponent) const {
  return kiln::pow(self(), exponent);
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
auto common_methods<X>::norm() const {
  return kiln::norm(self());
}
template <class X>
auto common_methods<X>::softmax(const axes& over) const {
  return kiln::softmax(self(), over);
}

}  // namespace kiln
