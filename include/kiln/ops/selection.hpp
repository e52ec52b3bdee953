// SPDX-License-Identifier: BSL-1.0
// Choosing between values by size: minimum, maximum, clamp, lerp.
#pragma once

#include <kiln/ops/arithmetic.hpp>
#include <kiln/ops/comparison.hpp>
#include <kiln/ops/logical.hpp>
#include <kiln/ops/where.hpp>

namespace kiln {

struct minimum_op : arithmetic<2> {
  static constexpr std::string_view name = "minimum";
  static constexpr auto value(auto a, auto b) { return minimum(a, b); }
  static constexpr auto adjoint(auto g, auto, auto a, auto b) {
    return adjoints{where(a == b, 0.5 * g, where(a < b, g, 0)), where(a == b, 0.5 * g, where(a < b, 0, g))};
  }
};
/// The smaller of a and b; nan if either is. Equal values share the gradient.
template <class A, class B>
  requires Operands<A, B>
constexpr auto minimum(A a, B b) {
  return apply<minimum_op>(std::move(a), std::move(b));
}

struct maximum_op : arithmetic<2> {
  static constexpr std::string_view name = "maximum";
  static constexpr auto value(auto a, auto b) { return maximum(a, b); }
  static constexpr auto adjoint(auto g, auto, auto a, auto b) {
    return adjoints{where(a == b, 0.5 * g, where(a > b, g, 0)), where(a == b, 0.5 * g, where(a > b, 0, g))};
  }
};
/// The larger of a and b; nan if either is. Equal values share the gradient.
template <class A, class B>
  requires Operands<A, B>
constexpr auto maximum(A a, B b) {
  return apply<maximum_op>(std::move(a), std::move(b));
}

struct clamp_op : arithmetic<3> {
  static constexpr std::string_view name = "clamp";
  static constexpr bool composite = true;
  static constexpr auto value(auto x, auto low, auto high) { return minimum(maximum(x, low), high); }
  static constexpr auto adjoint(auto g, auto, auto x, auto low, auto high) {
    const auto below = logical_and(x < low, low < high), above = logical_or(x > high, low > high);
    return adjoints{where(logical_or(x<low, x> high), 0, g), where(below, g, 0), where(above, g, 0)};
  }
};
/// x limited to [low, high]; nan stays nan; high wins where low > high. The gradient passes inside, bounds included.
template <class X, class Low, class High>
  requires Operands<X, Low, High>
constexpr auto clamp(X x, Low low, High high) {
  return apply<clamp_op>(std::move(x), std::move(low), std::move(high));
}

struct lerp_op : floating<3> {
  static constexpr std::string_view name = "lerp";
  static constexpr bool composite = true;
  // Exact at both ends: from each end, walk less than half the way.
  static constexpr auto value(auto a, auto b, auto w) {
    const auto d = b - a;
    return where(abs(w) < 0.5, a + w * d, b - d * (1 - w));
  }
  static constexpr auto adjoint(auto g, auto, auto a, auto b, auto w) {
    return adjoints{g * (1 - w), g * w, g * (b - a)};
  }
};
/// a + weight * (b - a); exactly a at weight 0 and b at weight 1.
template <class A, class B, class W>
  requires Operands<A, B, W>
constexpr auto lerp(A a, B b, W weight) {
  return apply<lerp_op>(std::move(a), std::move(b), std::move(weight));
}

}  // namespace kiln
