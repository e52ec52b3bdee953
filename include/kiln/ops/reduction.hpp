// SPDX-License-Identifier: BSL-1.0
// Ops that fold the elements along an axis (a "row") into one value. `row_*` write them on a tape; the functions on
// tensors, which take axes, stand in expr/reductions.hpp.
#pragma once

#include <limits>

#include <kiln/ops/arithmetic.hpp>
#include <kiln/ops/comparison.hpp>
#include <kiln/ops/exponential.hpp>
#include <kiln/ops/logarithm.hpp>
#include <kiln/ops/logical.hpp>
#include <kiln/ops/op.hpp>
#include <kiln/ops/rounding.hpp>
#include <kiln/ops/selection.hpp>
#include <kiln/ops/where.hpp>

namespace kiln {

/// A reduction: `combine` folds two partial results, `identity<T>()` is what folding nothing gives.
struct reduction_kind {
  static constexpr int arity = 1;
  static constexpr bool composite = false, reduces = true, expensive = false, lengthy = false;
  static constexpr bool has_identity = true;  ///< false: reducing zero elements is an error
  static constexpr std::string_view infix = {};
  static constexpr bool accepts(dtype) { return true; }
  static constexpr dtype common(dtype d) { return d; }
  static constexpr dtype result(dtype d) { return d; }
};

/// Integers and bool are summed and multiplied as int64, as in PyTorch.
constexpr dtype accumulation_type(dtype d) {
  return is_floating(d) ? d : dtype::int64;
}

struct sum_op : reduction_kind {
  static constexpr std::string_view name = "sum";
  static constexpr dtype common(dtype d) { return accumulation_type(d); }
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  static constexpr auto combine(auto a, auto b) { return a + b; }
  static constexpr auto fold(auto v) { return reduce_add(v); }
  static constexpr auto adjoint(auto g, auto, auto) { return g; }
};
/// Writes the sum over the row on the tape.
constexpr symbol row_sum(symbol x) {
  return apply<sum_op>(x);
}

struct prod_op : reduction_kind {
  static constexpr std::string_view name = "prod";
  static constexpr dtype common(dtype d) { return accumulation_type(d); }
  template <class T>
  static constexpr T identity() {
    return T(1);
  }
  static constexpr auto combine(auto a, auto b) { return a * b; }
  static constexpr auto fold(auto v) { return reduce_mul(v); }
  // x 2^n for whole n of any size: in quarters, of which none is infinite before the result is.
  static constexpr auto times_power_of_two(auto x, auto n) {
    const auto within = minimum(maximum(n, -4000), 4000), quarter = round(0.25 * within), power = exp2(quarter);
    return x * power * power * power * exp2(within - 3 * quarter);
  }
  // The product of the others. Elements are taken apart into mantissas about 1 and powers of 2, which are multiplied
  // and added on their own, so that nothing over- or underflows on the way (up to 2000 elements in double, 250 in
  // float, and nearly always beyond). One zero beside the element stands as a factor of its own, since the second
  // derivative is not 0 there; of two and more, which only third derivatives would see, nothing is known. Infinite
  // elements and nans are PyTorch's: a row's product divided by the element, but beside a zero 0 where all others are
  // finite.
  static constexpr auto adjoint(auto g, auto, auto x) {
    const auto none = constant_like(x, 0), one = constant_like(x, 1);
    const auto zero = x == 0, usual = isfinite(x);
    const auto power = where(logical_and(usual, x != 0), round(log2(abs(x))), none), half = round(0.5 * power);
    const auto mantissa = where(logical_or(zero, logical_not(usual)), one, x * exp2(-half) * exp2(half - power));
    const auto unusual = where(usual, one, x);
    const auto finite = times_power_of_two(apply<prod_op>(mantissa) / mantissa, row_sum(power) - power);
    const auto others = finite * (apply<prod_op>(unusual) / unusual);
    const auto own = where(zero, x, none);
    const auto other_zeros = row_sum(where(zero, one, none)) - where(zero, one, none);
    const auto zero_times = where(isfinite(finite), finite, none);
    const auto strange = where(usual, none, one);
    const auto beside_zero = where(other_zeros == 1, (row_sum(own) - own) * zero_times, none);
    const auto beside_strange =
        where(row_sum(strange) == strange, one, constant_like(x, std::numeric_limits<double>::quiet_NaN()));
    return g * where(other_zeros == 0, others, beside_zero * beside_strange);
  }
};

// Equal extreme values share the gradient evenly, as PyTorch's amax and amin have it.
constexpr auto shared_among_equal(auto g, auto y, auto x) {
  const auto hit = where(x == y, constant_like(x, 1), constant_like(x, 0));
  return g * (hit / row_sum(hit));
}

struct max_op : reduction_kind {
  static constexpr std::string_view name = "max";
  static constexpr bool has_identity = false;
  template <class T>
  static constexpr T identity() {
    if constexpr (std::numeric_limits<T>::has_infinity)
      return -std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::lowest();
  }
  // Whether the total is a nan would be asked from one value to the next; whether a value is one, of all at once.
  static constexpr auto combine(auto total, auto x) {
    if constexpr (Truth<decltype(x)>)
      return total | x;
    else
      return maximum(x, total);
  }
  static constexpr auto fold(auto v) {
    if constexpr (Truth<decltype(v)>)
      return reduce_any(v);
    else
      return reduce_max(v);
  }
  static constexpr auto adjoint(auto g, auto y, auto x) { return shared_among_equal(g, y, x); }
};
/// Of an empty row it is -inf: what uses it here knows better.
constexpr symbol row_max(symbol x) {
  return {x.on, x.on->push({.code = opcode_of(max_op::name),
                            .type = x.type(),
                            .a = static_cast<std::int16_t>(x.id),
                            .slot = folds_nothing})};
}

struct min_op : reduction_kind {
  static constexpr std::string_view name = "min";
  static constexpr bool has_identity = false;
  template <class T>
  static constexpr T identity() {
    if constexpr (std::numeric_limits<T>::has_infinity)
      return std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::max();
  }
  static constexpr auto combine(auto total, auto x) {
    if constexpr (Truth<decltype(x)>)
      return total & x;
    else
      return minimum(x, total);
  }
  static constexpr auto fold(auto v) {
    if constexpr (Truth<decltype(v)>)
      return reduce_all(v);
    else
      return reduce_min(v);
  }
  static constexpr auto adjoint(auto g, auto y, auto x) { return shared_among_equal(g, y, x); }
};

struct any_op : reduction_kind {
  static constexpr std::string_view name = "any";
  static constexpr dtype common(dtype) { return dtype::boolean; }
  template <class T>
  static constexpr T identity() {
    return T(false);
  }
  static constexpr auto combine(auto a, auto b) { return a | b; }
  static constexpr auto fold(auto v) { return reduce_any(v); }
  static constexpr auto adjoint(auto, auto, auto) { return no_gradient{}; }
};
struct all_op : reduction_kind {
  static constexpr std::string_view name = "all";
  static constexpr dtype common(dtype) { return dtype::boolean; }
  template <class T>
  static constexpr T identity() {
    return T(true);
  }
  static constexpr auto combine(auto a, auto b) { return a & b; }
  static constexpr auto fold(auto v) { return reduce_all(v); }
  static constexpr auto adjoint(auto, auto, auto) { return no_gradient{}; }
};

}  // namespace kiln
