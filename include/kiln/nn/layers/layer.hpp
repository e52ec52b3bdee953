// SPDX-License-Identifier: BSL-1.0
// What layers share: their settings in print, and refusals of inputs that do not fit, which name the layer, what it got
// and what it expects.
#pragma once

#include <cstdint>
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
std::string spelled(bool x);
std::string spelled(std::int64_t x);
std::string spelled(double x);
std::string spelled(const pair2d& x);
std::string spelled(const dims& x);

/// One more setting behind those of a text; a value without a name stands alone.
void add_setting(std::string& text, std::string_view name, const std::string& value);
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
[[gnu::cold]] std::string printed_layer(const module_slot& layer);
template <class L>
[[gnu::cold]] std::string printed_layer(const L& layer) {
  return printed_layer(slot_of_module(layer));
}

/// Throws shape_error unless an axis of the input has the size that a layer expects; axis -1 is the last.
void expect_size_of(const module_slot& layer, const dims& input, int axis, std::int64_t expected);
template <class L>
void expect_size(const L& layer, const dims& input, int axis, std::int64_t expected) {
  expect_size_of(slot_of_module(layer), input, axis, expected);
}
/// Throws shape_error unless the input has one of two numbers of axes.
void expect_rank_of(const module_slot& layer, const dims& input, int low, int high, std::string_view axes);
template <class L>
void expect_rank(const L& layer, const dims& input, int low, int high, std::string_view axes) {
  expect_rank_of(slot_of_module(layer), input, low, high, axes);
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

#ifdef KILN_COMPILED  // in src/models.cpp
extern template kiln::Tensor<float> kiln::nn::detail::or_number(const Tensor<float>&, const Tensor<float>&, float);
#else
#include <kiln/nn/layers/layer_impl.hpp>
#endif
