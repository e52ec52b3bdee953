// SPDX-License-Identifier: BSL-1.0
// Change of element type, and the op that hides a value from the gradient.
#pragma once

#include <kiln/ops/op.hpp>

namespace kiln {

/// The target is the type of the instruction itself; executors convert the operand to it.
struct cast_op : elementwise<1> {
  static constexpr std::string_view name = "cast";
  static constexpr dtype result(dtype d) { return d; }
  static constexpr auto value(auto x) { return x; }
};
/// Converts on the tape.
constexpr symbol cast(symbol x, dtype type) {
  return x.type() == type || x.now().type == type ? x : detail::push(opcode_of(cast_op::name), type, x);
}

struct stop_gradient_op : arithmetic<1> {
  static constexpr std::string_view name = "stop_gradient";
  static constexpr auto value(auto x) { return x; }
  static constexpr auto adjoint(auto, auto, auto) { return no_gradient{}; }
};
/// x itself, computed: what makes a copy.
struct clone_op : arithmetic<1> {
  static constexpr std::string_view name = "clone";
  static constexpr auto value(auto x) { return x; }
  static constexpr auto adjoint(auto g, auto, auto) { return g; }
};
/// x itself, which the gradient does not pass.
template <Operand X>
constexpr auto stop_gradient(X x) {
  return apply<stop_gradient_op>(std::move(x));
}

}  // namespace kiln
