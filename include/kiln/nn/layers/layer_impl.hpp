// SPDX-License-Identifier: BSL-1.0
// The definitions of layer.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <kiln/core/error.hpp>
#include <kiln/nn/layers/layer.hpp>

namespace kiln::nn::detail {

KILN_INLINE std::string spelled(bool x) {
  return x ? "True" : "False";
}
KILN_INLINE std::string spelled(std::int64_t x) {
  return std::to_string(x);
}
KILN_INLINE std::string spelled(double x) {
  std::string text = message(x);
  if (text.find_first_of(".en") == text.npos) text += ".0";
  return text;
}
KILN_INLINE std::string spelled(const pair2d& x) {
  return message(x);
}
KILN_INLINE std::string spelled(const dims& x) {
  std::string text = "(";
  for (int i = 0; i < x.rank(); ++i) text += (i ? ", " : "") + std::to_string(x[i]);
  return text + (x.rank() == 1 ? ",)" : ")");
}

KILN_INLINE void add_setting(std::string& text, std::string_view name, const std::string& value) {
  if (!text.empty()) text += ", ";
  if (!name.empty()) text.append(name) += '=';
  text += value;
}

[[gnu::cold]] KILN_INLINE std::string printed_layer(const module_slot& layer) {
  const std::string name = naming ? naming->name(layer.object, layer.type) : std::string();
  return (name.empty() ? "" : name + ": ") + std::string(layer.type) + "(" + layer.settings(layer.object) + ")";
}

KILN_INLINE void expect_size_of(const module_slot& layer, const dims& input, int axis, std::int64_t expected) {
  const int at = axis < 0 ? input.rank() + axis : axis;
  if (at >= 0 && at < input.rank() && input[at] == expected) return;
  if (at < 0 || at >= input.rank())
    throw shape_error(message(printed_layer(layer), ": got an input of shape ", input, ", which has no axis ", axis,
                              "; expected one of size ", expected, " there"));
  throw shape_error(message(printed_layer(layer), ": got an input of shape ", input, ", whose axis ", axis,
                            " has the size ", input[at], "; expected ", expected));
}

KILN_INLINE void expect_rank_of(const module_slot& layer, const dims& input, int low, int high, std::string_view axes) {
  if (input.rank() >= low && input.rank() <= high) return;
  throw shape_error(message(printed_layer(layer), ": got an input of shape ", input, "; expected ", axes));
}

}  // namespace kiln::nn::detail
