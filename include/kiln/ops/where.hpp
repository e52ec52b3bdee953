// SPDX-License-Identifier: BSL-1.0
// Choice between two values, element by element.
#pragma once

#include <kiln/ops/op.hpp>

namespace kiln {

struct where_op : elementwise<3> {
  static constexpr std::string_view name = "where";
  static constexpr dtype result(dtype d) { return d; }
  static constexpr auto value(auto c, auto a, auto b) { return where(c, a, b); }
  static constexpr auto adjoint(auto g, auto, auto c, auto, auto) {
    return adjoints{no_gradient{}, where(c, g, 0), where(c, 0, g)};
  }
};
/// a where the condition is true (not zero), else b. All three broadcast. A nan that is not chosen leaves no trace in
/// the values, and the operand that holds it gets gradient 0; what that operand was computed from may still get
/// 0 * nan, so choose a safe argument too: where(x > 0, sqrt(where(x > 0, x, 1)), 0).
template <class C, class A, class B>
  requires Operands<C, A, B>
constexpr auto where(C condition, A a, B b) {
  return apply<where_op>(std::move(condition), std::move(a), std::move(b));
}

}  // namespace kiln
