// SPDX-License-Identifier: BSL-1.0
// The definitions of custom_node.hpp.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <kiln/tensor/custom_node.hpp>
#include <kiln/tensor/recorder.hpp>

namespace kiln::detail {

[[gnu::cold]] KILN_INLINE void custom_node::check_shape(const given_gradient& given, int input) const {
  if (given.values->sizes != inputs[input]->sizes)
    throw graph_error(message("backward: the rule of ", name_, " gave a gradient of shape ", given.values->sizes,
                              " for input ", input, " of shape ", inputs[input]->sizes));
}

KILN_INLINE void custom_node::backward(const ref<tensor_state>& gradient) {
  check_saved(*gradient->memory);
  std::vector<given_gradient> given(static_cast<std::size_t>(input_count));
  {
    const no_grad quiet;
    apply(gradient, {}, given.data());
  }
  for (int i = 0; i < input_count; ++i) {
    given_gradient& made = given[static_cast<std::size_t>(i)];
    if (made.values) check_shape(made, i);
  }
  for (int i = 0; i < input_count; ++i) {
    given_gradient& made = given[static_cast<std::size_t>(i)];
    if (!made.values) continue;
    if (made.owned)
      hand_over_gradient(adding(i), std::move(made.values), *inputs[i]);
    else
      add_to_gradient(adding(i), *made.values, *inputs[i]);
  }
}

KILN_INLINE void custom_node::apply_recorded(const ref<tensor_state>& gradient, const ref<gradient_record>& output) {
  check_saved(*gradient->memory);
  std::vector<given_gradient> given(static_cast<std::size_t>(input_count));
  apply(gradient, output, given.data());
  recorder& r = the_recorder();
  for (int i = 0; i < input_count; ++i) {
    given_gradient& made = given[static_cast<std::size_t>(i)];
    if (!made.values) continue;
    check_shape(made, i);
    r.add(*inputs[i], made.owned ? made.values : r.copy(made.values, device()), device());
  }
}

}  // namespace kiln::detail
