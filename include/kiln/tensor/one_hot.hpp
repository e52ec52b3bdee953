// SPDX-License-Identifier: BSL-1.0
// one_hot: class numbers as rows with a single one.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

namespace detail {
inline std::int64_t classes_up_to(std::int64_t label) {
  if (label == std::numeric_limits<std::int64_t>::max())
    throw value_error(message("one_hot: label ", label, " would be one of more classes than can be counted: check it"));
  return label + 1;
}
}  // namespace detail

/// A row of `classes` elements per label, 1 at the label and 0 elsewhere; `classes` of -1 means the largest label plus
/// one. Throws value_error for a label outside [0, classes).
template <Element T = std::int64_t, Expression X>
Tensor<T, typename X::device_type> one_hot(const X& labels, std::int64_t classes = -1) {
  using L = typename X::value_type;
  static_assert(!detail::any_transformed<X>,
                "kiln: one_hot has no meaning within vmap and jvp yet: call it on the whole batch before, or write "
                "cast<float>(unsqueeze(labels, -1) == arange<std::int64_t>(0, classes))");
  static_assert(std::is_integral_v<L> && !std::same_as<L, bool>,
                "kiln: one_hot needs labels of an integer type: cast<int64_t>() them");
  auto numbers = detail::as_tensor(labels);
  if (!numbers.contiguous_layout()) numbers = numbers.clone();
  if (classes < -1)
    throw value_error(message("one_hot: ", classes, " classes: use 0 or more, or -1 to have them counted"));
  if constexpr (!executor<typename X::device_type>::on_host) {
    // The largest and the smallest label are looked at, which waits for the device.
    const bool any = numbers.numel() > 0;
    const auto largest = any ? static_cast<std::int64_t>(detail::as_tensor(max(numbers)).item()) : -1;
    const auto smallest = any ? static_cast<std::int64_t>(detail::as_tensor(min(numbers)).item()) : 0;
    if (classes == -1) classes = detail::classes_up_to(std::max<std::int64_t>(largest, -1));
    if (smallest < 0 || largest >= classes)
      throw value_error(message("one_hot: label ", smallest < 0 ? smallest : largest, " is outside [0, ", classes,
                                "): check the labels or the number of classes"));
    return cast<T>(unsqueeze(numbers, -1) == arange<L>(std::int64_t{0}, classes, 1, numbers.device()));
  } else {
    if (classes == -1) {
      classes = 0;
      for (const L label : numbers.span()) classes = std::max(classes, detail::classes_up_to(label));
    }
    dims sizes = numbers.sizes();
    sizes.push_back(classes);
    auto result = zeros<T, typename X::device_type>(sizes);
    T* row = result.data();
    for (const L label : numbers.span()) {
      const auto at = static_cast<std::int64_t>(label);
      if (at < 0 || at >= classes)
        throw value_error(message("one_hot: label ", at, " is outside [0, ", classes,
                                  "): check the labels or the number of classes"));
      row[at] = T(1);
      row += classes;
    }
    return result;
  }
}

}  // namespace kiln
