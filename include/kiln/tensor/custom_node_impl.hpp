// SPDX-License-Identifier: BSL-1.0
// The definitions of custom_node.hpp.
#pragma once

#include <utility>

#include <kiln/tensor/custom_node.hpp>
#include <kiln/tensor/recorder.hpp>

namespace kiln::detail {

KILN_INLINE void custom_node::backward(const ref<tensor_state>& gradient) {
  check_saved(*gradient->memory);
  const no_grad quiet;
  apply(gradient, {});
}

KILN_INLINE void custom_node::give(int input, ref<tensor_state> values, bool owned) {
  gradient_record& to = *inputs[input];
  if (values->sizes != to.sizes)
    throw graph_error(message("backward: the rule of ", name_, " gave a gradient of shape ", values->sizes,
                              " for input ", input, " of shape ", to.sizes));
  if (grad_enabled())  // the pass is recorded
    the_recorder().add(to, owned ? values : the_recorder().copy(values, device()), device());
  else if (owned)
    hand_over_gradient(adding(input), std::move(values), to);
  else
    add_to_gradient(adding(input), *values, to);
}

}  // namespace kiln::detail
