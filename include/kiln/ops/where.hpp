// SPDX-License-Identifier: BSL-1.0
// Choice between two values, element by element.
#pragma once

#include <kiln/ops/op.hpp>

namespace kiln {

struct where_op : elementwise<3> {
  static constexpr std::string_view name = "where";
  static constexpr number_rule numbers(int) { return number_rule::refused; }
  static constexpr dtype result(dtype d) { return d; }
  static constexpr auto value(auto c, auto a, auto b) { return where(c, a, b); }
  static constexpr auto adjoint(auto g, auto, auto c, auto, auto) {
    return adjoints{no_gradient{}, where(c, g, 0), where(c, 0, g)};
  }
};
/// a where the condition is true (not zero), else b. All three broadcast. What is not chosen
/// leaves no trace, in values or gradients: neither a nan nor the infinite derivative of what it was computed from, as
/// far as that stands in the same expression. where(x > 0, sqrt(x), 0) has the gradient 0 at 0 and below.
template <class C, class A, class B>
  requires Operands<C, A, B>
constexpr auto where(C condition, A a, B b) {
  return apply<where_op>(std::move(condition), std::move(a), std::move(b));
}

}  // namespace kiln
