// SPDX-License-Identifier: BSL-1.0
// What layers share: their settings in print, and refusals of inputs that do not fit, which name the layer, what it got
// and what it expects.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <kiln/autograd/node.hpp>
#include <kiln/core/dims.hpp>
#include <kiln/core/window.hpp>
#include <kiln/nn/members.hpp>
#include <kiln/nn/watch.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln::nn::detail {

/// A setting as Python prints it: True, 0.5, 1.0, (2, 2).
inline std::string spelled(bool x) {
  return x ? "True" : "False";
}
inline std::string spelled(std::int64_t x) {
  return std::to_string(x);
}
inline std::string spelled(double x) {
  std::ostringstream out;
  out << x;
  std::string text = out.str();
  if (text.find_first_of(".en") == text.npos) text += ".0";
  return text;
}
inline std::string spelled(const pair2d& x) {
  return message(x);
}
inline std::string spelled(const dims& x) {
  std::string text = "(";
  for (int i = 0; i < x.rank(); ++i) text += (i ? ", " : "") + std::to_string(x[i]);
  return text + (x.rank() == 1 ? ",)" : ")");
}

/// One more setting behind those of a text; a value without a name stands alone.
[[gnu::noinline]] inline void add_setting(std::string& text, std::string_view name, const std::string& value) {
  if (!text.empty()) text += ", ";
  if (!name.empty()) text.append(name) += '=';
  text += value;
}
template <class T, class... Rest>
void add_settings(std::string& text, std::string_view name, const T& value, const Rest&... rest) {
  add_setting(text, name, spelled(value));
  if constexpr (sizeof...(Rest) > 0) add_settings(text, rest...);
}
/// "name=value, name=value" of a list of names and values.
template <class... NamesAndValues>
std::string settings_text(const NamesAndValues&... each) {
  std::string text;
  add_settings(text, each...);
  return text;
}

/// The layer as it is printed, Linear(in_features=784, out_features=256, bias=True); where its name is known, after
/// that.
template <class L>
[[gnu::cold]] std::string printed_layer(const L& layer) {
  const std::string name = naming ? naming->name(&layer, short_name<L>()) : std::string();
  return (name.empty() ? "" : name + ": ") + std::string(short_name<L>()) + "(" + layer.settings() + ")";
}

/// Throws shape_error unless an axis of the input has the size that a layer expects; axis -1 is the last.
template <class L>
void expect_size(const L& layer, const dims& input, int axis, std::int64_t expected) {
  const int at = axis < 0 ? input.rank() + axis : axis;
  if (at >= 0 && at < input.rank() && input[at] == expected) return;
  if (at < 0 || at >= input.rank())
    throw shape_error(message(printed_layer(layer), ": got an input of shape ", input, ", which has no axis ", axis,
                              "; expected one of size ", expected, " there"));
  throw shape_error(message(printed_layer(layer), ": got an input of shape ", input, ", whose axis ", axis,
                            " has the size ", input[at], "; expected ", expected));
}
/// Throws shape_error unless the input has one of two numbers of axes.
template <class L>
void expect_rank(const L& layer, const dims& input, int low, int high, std::string_view axes) {
  if (input.rank() >= low && input.rank() <= high) return;
  throw shape_error(message(printed_layer(layer), ": got an input of shape ", input, "; expected ", axes));
}

/// A parameter that may be absent, or a number in its place on the device of another tensor: so the expression of a
/// layer has one type, whatever its options.
template <Element T, class D>
Tensor<T, D> or_number(const Tensor<T, D>& x, const Tensor<T, D>& near, float number) {
  if (x.defined()) return x;
  auto one = kiln::executor<D>::new_tensor(dtype_of<T>, {1}, *near.state()->memory);
  kiln::executor<D>::fill(*one, static_cast<T>(number));
  return Tensor<T, D>(std::move(one));
}

}  // namespace kiln::nn::detail
