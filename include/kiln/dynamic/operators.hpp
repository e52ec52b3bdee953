// SPDX-License-Identifier: BSL-1.0
// + - * / of dynamic tensors, and of one with a number, as C++ writes them: calls of add, sub, mul, div and neg.
#pragma once

#include <cstdint>
#include <type_traits>

#include <kiln/dynamic/creation.hpp>
#include <kiln/dynamic/tensor.hpp>

namespace kiln::dynamic {

namespace graph {
/// A number beside a tensor: it changes the tensor's type only if its category is higher.
template <Number V>
tensor beside(V value) {
  if constexpr (std::is_same_v<V, bool>)
    return scalar(value);
  else
    return scalar(widened(value));
}
}  // namespace graph

/// Lazy, as call() is, and throws as it does.
inline tensor operator+(const tensor& a, const tensor& b) {
  return call("add", {a, b});
}
inline tensor operator-(const tensor& a, const tensor& b) {
  return call("sub", {a, b});
}
inline tensor operator*(const tensor& a, const tensor& b) {
  return call("mul", {a, b});
}
inline tensor operator/(const tensor& a, const tensor& b) {
  return call("div", {a, b});
}
inline tensor operator-(const tensor& a) {
  return call("neg", {a});
}

template <Number V>
tensor operator+(const tensor& a, V b) {
  return a + graph::beside(b);
}
template <Number V>
tensor operator+(V a, const tensor& b) {
  return graph::beside(a) + b;
}
template <Number V>
tensor operator-(const tensor& a, V b) {
  return a - graph::beside(b);
}
template <Number V>
tensor operator-(V a, const tensor& b) {
  return graph::beside(a) - b;
}
template <Number V>
tensor operator*(const tensor& a, V b) {
  return a * graph::beside(b);
}
template <Number V>
tensor operator*(V a, const tensor& b) {
  return graph::beside(a) * b;
}
template <Number V>
tensor operator/(const tensor& a, V b) {
  return a / graph::beside(b);
}
template <Number V>
tensor operator/(V a, const tensor& b) {
  return graph::beside(a) / b;
}

}  // namespace kiln::dynamic
