// SPDX-License-Identifier: BSL-1.0
// Nested braces as a tensor's elements: {{1, 2}, {3, 4}}. A type that contains lists of itself takes any depth, and
// {{1}, {2}} is a column, not two numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>

namespace kiln {

template <Element T>
struct nested_list {
  using stored = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;  // std::vector<bool> has no elements
  dims sizes;
  std::vector<stored> values;

  template <Number S>
  nested_list(S value) : values{static_cast<stored>(static_cast<T>(value))} {}
  /// Throws shape_error if the parts differ in shape.
  [[gnu::cold]] nested_list(std::initializer_list<nested_list> parts) {
    sizes.push_back(static_cast<std::int64_t>(parts.size()));
    for (const nested_list& part : parts) {
      if (part.sizes != parts.begin()->sizes)
        throw shape_error(message("a nested list has parts of shape ", parts.begin()->sizes, " and of shape ",
                                  part.sizes, ": make them equal"));
      values.insert(values.end(), part.values.begin(), part.values.end());
    }
    if (parts.size() > 0)
      for (std::int64_t size : parts.begin()->sizes) sizes.push_back(size);
  }
};

}  // namespace kiln
