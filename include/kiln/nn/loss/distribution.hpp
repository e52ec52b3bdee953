// SPDX-License-Identifier: BSL-1.0
// Losses of probabilities: bce, bce_with_logits, kl_div, multilabel_soft_margin.
#pragma once

#include <cstdint>
#include <string_view>

#include <kiln/nn/loss/reduction.hpp>

namespace kiln::nn {

namespace detail {
/// The loss of one probability. By a rule of its own, since the logarithms' derivatives at 0 are infinite.
struct binary_cross_entropy_op : floating<2> {
  static constexpr std::string_view name = "binary_cross_entropy";
  static constexpr bool composite = true;
  static constexpr auto value(auto x, auto t) {
    return -(t * maximum(log(x), -100) + (1 - t) * maximum(log1p(-x), -100));
  }
  // PyTorch's, and its limit, which is the float next to 1e-12.
  static constexpr auto adjoint(auto g, auto, auto x, auto t) {
    return adjoints{g * ((x - t) / maximum((1 - x) * x, 9.999999960041972e-13)),
                    g * (maximum(log1p(-x), -100) - maximum(log(x), -100))};
  }
};
}  // namespace detail

/// -(target log(input) + (1 - target) log(1 - input)), logarithms not below -100: torch's binary_cross_entropy, whose
/// gradient, (input - target) / (input (1 - input)), has a divisor of 1e-12 or more. Throws shape_error for two shapes.
/// Inputs outside [0, 1] give nan.
template <Expression X, Expression Y>
auto binary_cross_entropy(const X& input, const Y& target, const loss_options& options = {}) {
  detail::expect_same_shape(input, target, "binary_cross_entropy");
  return detail::reduced(apply<detail::binary_cross_entropy_op>(input, target), options.reduction);
}

/// binary_cross_entropy of sigmoid(input), without its rounding: torch's binary_cross_entropy_with_logits. Throws
/// shape_error for two shapes.
template <Expression X, Expression Y>
auto binary_cross_entropy_with_logits(const X& input, const Y& target, const loss_options& options = {}) {
  detail::expect_same_shape(input, target, "binary_cross_entropy_with_logits");
  return detail::reduced((1 - target) * input - logsigmoid(input), options.reduction);
}
/// The same with the losses of ones multiplied by `pos_weight`, which broadcasts.
template <Expression X, Expression Y, Expression W>
auto binary_cross_entropy_with_logits(const X& input, const Y& target, const W& pos_weight,
                                      const loss_options& options = {}) {
  detail::expect_same_shape(input, target, "binary_cross_entropy_with_logits");
  return detail::reduced((1 - target) * input - (1 + (pos_weight - 1) * target) * logsigmoid(input), options.reduction);
}

/// What kl_div may be told.
struct kl_div_options {
  nn::reduction reduction = nn::reduction::mean;
  bool log_target = false;  ///< the target holds logarithms, as the input does
  bool batchmean = false;   ///< the sum divided by the size of the first axis, which is the divergence itself
};
/// target (log(target) - input) for logarithms of probabilities in `input`; 0 where the target is 0: torch's kl_div.
/// Throws shape_error for two shapes.
template <Expression X, Expression Y>
auto kl_div(const X& input, const Y& target, const kl_div_options& options = {}) {
  detail::expect_same_shape(input, target, "kl_div");
  const dims sizes = shape_of(input);
  const double all = static_cast<double>(options.batchmean && sizes.rank() > 0 ? sizes[0] : count(sizes));
  const nn::reduction how = options.batchmean ? nn::reduction::mean : options.reduction;
  if (options.log_target) return detail::reduced(exp(target) * (target - input), how, all);
  return detail::reduced(where(target > 0, target * log(target), 0) - target * input, how, all);
}

/// The mean over the last axis of binary_cross_entropy_with_logits: torch's multilabel_soft_margin_loss of scores
/// (N, C) or (C). Throws shape_error for two shapes.
template <Expression X, Expression Y>
auto multilabel_soft_margin_loss(const X& input, const Y& target, const loss_options& options = {}) {
  detail::expect_same_shape(input, target, "multilabel_soft_margin_loss");
  using Result = Tensor<typename X::value_type, typename X::device_type>;
  const Result rows = mean((1 - target) * input - logsigmoid(input), -1);
  return detail::reduced(rows, options.reduction);
}

}  // namespace kiln::nn
