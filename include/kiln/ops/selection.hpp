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
  static constexpr number_rule numbers(int) { return number_rule::upper; }
  static constexpr auto value(auto a, auto b) { return minimum(a, b); }
  static constexpr auto adjoint(auto g, auto, auto a, auto b) {
    const auto half = 0.5 * g;
    return adjoints{where(a > b, 0, where(a == b, half, g)), where(a < b, 0, where(a == b, half, g))};
  }
};
/// The smaller of a and b; nan if either is. Equal values share the gradient; beside a nan, both get all of it.
template <class A, class B>
  requires Operands<A, B>
constexpr auto minimum(A a, B b) {
  return apply<minimum_op>(std::move(a), std::move(b));
}

struct maximum_op : arithmetic<2> {
  static constexpr std::string_view name = "maximum";
  static constexpr number_rule numbers(int) { return number_rule::lower; }
  static constexpr auto value(auto a, auto b) { return maximum(a, b); }
  static constexpr auto adjoint(auto g, auto, auto a, auto b) {
    const auto half = 0.5 * g;
    return adjoints{where(a < b, 0, where(a == b, half, g)), where(a > b, 0, where(a == b, half, g))};
  }
};
/// The larger of a and b; nan if either is. Equal values share the gradient; beside a nan, both get all of it.
template <class A, class B>
  requires Operands<A, B>
constexpr auto maximum(A a, B b) {
  return apply<maximum_op>(std::move(a), std::move(b));
}

struct clamp_op : arithmetic<3> {
  static constexpr std::string_view name = "clamp";
  static constexpr bool composite = true;
  static constexpr number_rule numbers(int place) {
    return place == 0 ? number_rule::refused : place == 1 ? number_rule::lower : number_rule::upper;
  }
  static constexpr auto value(auto x, auto low, auto high) { return minimum(maximum(x, low), high); }
  static constexpr auto adjoint(auto g, auto, auto x, auto low, auto high) {
    if (is_number(low) && is_number(high))
      return adjoints{where(logical_and(x > low, x < high), g, symbol(constant_like(g, 0))), symbol(), symbol()};
    const auto outside = logical_or(is_number(low) ? x <= low : x < low, is_number(high) ? x >= high : x > high);
    const auto apart = low < high, half = 0.5 * g;
    const auto at_low = logical_and(x == low, apart), at_high = logical_and(x == high, apart);
    const auto below = logical_and(x < low, low <= high), above = logical_and(x > high, low <= high);
    auto at_bounds = is_number(low) ? at_high : is_number(high) ? at_low : logical_or(at_low, at_high);
    return adjoints{where(outside, 0, where(at_bounds, half, g)), where(below, g, where(at_low, half, 0)),
                    where(logical_or(above, low > high), g, where(at_high, half, 0))};
  }
};
/// x limited to [low, high]. Limits outside an integer type limit nothing, or are refused with value_error if nothing
/// would be left; nan stays nan; high wins where low > high. The gradient passes inside; at a bound that is
/// a tensor the two share it, at one that is a number there is none, as in PyTorch.
template <class X, class Low, class High>
  requires Operands<X, Low, High>
constexpr auto clamp(X x, Low low, High high) {
  return apply<clamp_op>(std::move(x), std::move(low), std::move(high));
}

/// Not possible: PyTorch's clamp with one bound says min or max by name.
template <class X, class Bound>
  requires Operands<X, Bound>
constexpr X clamp(X x, Bound) {
  static_assert(detail::never<Bound>,
                "kiln: clamp takes two bounds, clamp(x, low, high): with one, write maximum(x, low) or "
                "minimum(x, high)");
  return x;
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
