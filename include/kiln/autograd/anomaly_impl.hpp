// SPDX-License-Identifier: BSL-1.0
// The definitions of anomaly.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <kiln/autograd/anomaly.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tape/infix.hpp>
#include <kiln/tensor/op_node.hpp>

namespace kiln {

namespace detail {
KILN_INLINE bool any_nan(const tensor_state& t, const device_functions& device) {
  const std::size_t n = static_cast<std::size_t>(count(t.sizes));
  if (n == 0 || !is_floating(t.type)) return false;
  std::vector<std::byte> copy(n * size_of(t.type));
  device.copy_out(t, copy.data());
  return visit_dtype(t.type, [&]<class T>(std::type_identity<T>) {
    const T* const first = reinterpret_cast<const T*>(copy.data());
    return std::any_of(first, first + n, [](const T& x) {
      const auto value = static_cast<compute_t<T>>(x);
      return value != value;
    });
  });
}
}  // namespace detail

KILN_INLINE void detect_anomaly::start(const ref<gradient_record>& root) {
  const auto* const first = root->producer ? dynamic_cast<const detail::op_node*>(root->producer.get()) : nullptr;
  const ref<tensor_state>& gradient = detail::arriving_gradient(*root);
  if (first && gradient && detail::any_nan(*gradient, first->device()))
    throw graph_error(
        message("detect_anomaly: the gradient that the pass began with, of shape ", root->sizes, ", holds nan"));
}

KILN_INLINE void detect_anomaly::done(const graph_node& node) {
  const auto* const known = dynamic_cast<const detail::op_node*>(&node);
  for (int i = 0; known && i < node.input_count; ++i) {
    if (!node.inputs[i]) continue;
    gradient_record& record = *node.inputs[i];
    const ref<tensor_state>& gradient = detail::arriving_gradient(record);
    if (!gradient || !detail::any_nan(*gradient, known->device())) continue;
    const tape_view tape = node.value_tape();
    const std::string text = tape.size > 0 ? infix(tape, op_facts_table) : node.name();
    throw graph_error(message("detect_anomaly: the backward pass of ", text,
                              " made the first nan, in the gradient of operand ", i, ", of shape ", record.sizes));
  }
}

}  // namespace kiln
