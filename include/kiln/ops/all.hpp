// SPDX-License-Identifier: BSL-1.0
// The list of all ops: the only one. What must go over every op (gradients, printers, tests) takes this list.
#pragma once

#include <kiln/ops/activation.hpp>
#include <kiln/ops/arithmetic.hpp>
#include <kiln/ops/cast.hpp>
#include <kiln/ops/comparison.hpp>
#include <kiln/ops/exponential.hpp>
#include <kiln/ops/hyperbolic.hpp>
#include <kiln/ops/logarithm.hpp>
#include <kiln/ops/logical.hpp>
#include <kiln/ops/normalization.hpp>
#include <kiln/ops/reduction.hpp>
#include <kiln/ops/rounding.hpp>
#include <kiln/ops/selection.hpp>
#include <kiln/ops/special.hpp>
#include <kiln/ops/table.hpp>
#include <kiln/ops/table_with.hpp>
#include <kiln/ops/take.hpp>
#include <kiln/ops/trigonometric.hpp>
#include <kiln/ops/where.hpp>

namespace kiln {

// clang-format off
using all_ops = op_list<
    cast_op, clone_op, stop_gradient_op,
    add_op, sub_op, mul_op, div_op, neg_op, square_op, sqrt_op, root_op, rsqrt_op, reciprocal_op, abs_op,
    pow_op, hypot_op, fmod_op, remainder_op,
    floor_op, ceil_op, round_op, trunc_op, sign_op,
    exp_op, exp2_op, expm1_op, sigmoid_op,
    log_op, log2_op, log10_op, log1p_op,
    sin_op, cos_op, tan_op, asin_op, acos_op, atan_op, atan2_op,
    sinh_op, cosh_op, tanh_op, asinh_op, acosh_op, atanh_op,
    erf_op, erfc_op, gaussian_op, ndtr_op, polygamma_op, digamma_op, lgamma_op,
    eq_op, ne_op, lt_op, le_op, gt_op, ge_op, isnan_op, isinf_op, isfinite_op,
    logical_and_op, logical_or_op, logical_xor_op, logical_not_op, bitwise_and_op, bitwise_or_op, bitwise_xor_op,
    left_shift_op, right_shift_op, bitwise_not_op,
    where_op, checked_index_op, take_op,
    minimum_op, maximum_op, clamp_op, lerp_op,
    relu_op, silu_op, gelu_op, gelu_tanh_op, mish_op, softsign_op, logsigmoid_op, tanhshrink_op, relu6_op,
    hardsigmoid_op, hardswish_op, selu_op, leaky_relu_op, elu_op, celu_op, softshrink_op, hardshrink_op,
    softplus_op, hardtanh_op, threshold_op,
    sum_op, prod_op, max_op, min_op, any_op, all_op,
    softmax_op, log_softmax_op, logsumexp_op, squared_deviation_op, standard_deviation_op, layer_norm_op, rms_norm_op>;
// clang-format on

/// All ops, with their rules or without. A rule_table that is made where something asks for it, so that a file without
/// an expression does not compile it. A function that is no template takes it from its caller.
template <bool WithRules>
struct listed_table {
  /// The ops that passes and executors write by themselves.
  static constexpr opcode add = opcode_of("add"), sum = opcode_of("sum"), cast = opcode_of("cast"),
                          where = opcode_of("where"), sub = opcode_of("sub"), mul = opcode_of("mul");
  template <class List = all_ops>
  static constexpr const rule_table& table() {
    if constexpr (WithRules)
      return op_table<List>::table;
    else
      return op_table<List>::facts_table;
  }
  template <class List = all_ops>
  constexpr operator const rule_table&() const {
    return table<List>();
  }
  template <class List = all_ops>
  constexpr int index(opcode code) const {
    return table<List>().index(code);
  }
  template <class List = all_ops>
  constexpr found_rules find(opcode code) const {
    return table<List>().find(code);
  }
};
/// Without: enough to cut, to print and to run a tape. With them: for passes over tapes that are made at run time.
inline constexpr listed_table<false> op_facts_table;
inline constexpr listed_table<true> op_rules_table;

}  // namespace kiln
