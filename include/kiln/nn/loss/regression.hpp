// SPDX-License-Identifier: BSL-1.0
// Losses of numbers against numbers: mse, l1, smooth_l1, huber, poisson_nll, gaussian_nll.
#pragma once

#include <numbers>

#include <kiln/nn/loss/reduction.hpp>

namespace kiln::nn {

/// (input - target)^2: torch's mse_loss. Throws shape_error for two shapes.
template <Expression X, Expression Y>
auto mse_loss(const X& input, const Y& target, const loss_options& options = {}) {
  detail::expect_same_shape(input, target, "mse_loss");
  return detail::reduced(square(input - target), options.reduction);
}
/// |input - target|: torch's l1_loss. Throws shape_error for two shapes.
template <Expression X, Expression Y>
auto l1_loss(const X& input, const Y& target, const loss_options& options = {}) {
  detail::expect_same_shape(input, target, "l1_loss");
  return detail::reduced(abs(input - target), options.reduction);
}

/// What smooth_l1_loss may be told.
struct smooth_l1_options {
  nn::reduction reduction = nn::reduction::mean;
  double beta = 1;  ///< where the square becomes a line; 0: a line everywhere
};
/// d^2 / (2 beta) for d = |input - target| below beta, else d - beta / 2: torch's smooth_l1_loss. Throws shape_error
/// for two shapes, value_error for a negative beta.
template <Expression X, Expression Y>
auto smooth_l1_loss(const X& input, const Y& target, const smooth_l1_options& options = {}) {
  detail::expect_same_shape(input, target, "smooth_l1_loss");
  const double beta = options.beta;
  if (!(beta >= 0)) throw value_error(message("smooth_l1_loss: a beta of ", beta, ": use 0 or more"));
  const auto d = input - target;  // squared as it is: the derivative of |d| is none at 0
  return detail::reduced(where(abs(d) < beta, square(d) * (beta > 0 ? 0.5 / beta : 0), abs(d) - beta / 2),
                         options.reduction);
}

/// What huber_loss may be told.
struct huber_options {
  nn::reduction reduction = nn::reduction::mean;
  double delta = 1;  ///< where the square becomes a line
};
/// d^2 / 2 for d = |input - target| below delta, else delta (d - delta / 2): torch's huber_loss. Throws shape_error for
/// two shapes, value_error for a delta that is not above 0.
template <Expression X, Expression Y>
auto huber_loss(const X& input, const Y& target, const huber_options& options = {}) {
  detail::expect_same_shape(input, target, "huber_loss");
  const double delta = options.delta;
  if (!(delta > 0)) throw value_error(message("huber_loss: a delta of ", delta, ": use more than 0"));
  const auto d = input - target;
  return detail::reduced(where(abs(d) < delta, square(d) * 0.5, (abs(d) - delta / 2) * delta), options.reduction);
}

/// What poisson_nll_loss may be told.
struct poisson_nll_options {
  bool log_input = true;  ///< the input is the logarithm of the rate
  bool full = false;      ///< add Stirling's term of targets above 1
  double eps = 1e-8;      ///< added to the rate before its logarithm, without log_input
  nn::reduction reduction = nn::reduction::mean;
};
/// The negative log likelihood of counts by Poisson distributions, exp(input) - target input, or without log_input
/// input - target log(input + eps): torch's poisson_nll_loss. Throws shape_error for two shapes.
template <Expression X, Expression Y>
auto poisson_nll_loss(const X& input, const Y& target, const poisson_nll_options& options = {}) {
  detail::expect_same_shape(input, target, "poisson_nll_loss");
  const auto stirling = where(target > (options.full ? 1.0 : std::numeric_limits<double>::infinity()),
                              target * log(target) - target + 0.5 * log(2 * std::numbers::pi * target), 0);
  if (options.log_input) return detail::reduced(exp(input) - target * input + stirling, options.reduction);
  return detail::reduced(input - target * log(input + options.eps) + stirling, options.reduction);
}

/// What gaussian_nll_loss may be told.
struct gaussian_nll_options {
  bool full = false;  ///< add log(2 pi) / 2
  double eps = 1e-6;  ///< variances below it count as it
  nn::reduction reduction = nn::reduction::mean;
};
/// The negative log likelihood of numbers by normal distributions with these means and variances, (log(var) +
/// (input - target)^2 / var) / 2: torch's gaussian_nll_loss. The variance broadcasts to the input. As in PyTorch its
/// limit has no part in the gradient. Throws shape_error for two shapes, value_error for a variance below 0.
template <Expression X, Expression Y, Expression V>
auto gaussian_nll_loss(const X& input, const Y& target, const V& variance, const gaussian_nll_options& options = {}) {
  detail::expect_same_shape(input, target, "gaussian_nll_loss");
  const auto of = kiln::detail::as_tensor(variance);
  if constexpr (!kiln::detail::any_transformed<V>)
    if (any(detach(of) < 0).eval().item())
      throw value_error("gaussian_nll_loss: a variance below 0: use exp() of a logarithm, or softplus()");
  // The limited value with the gradient of the variance itself.
  const auto limited = of + detach(where(of < options.eps, options.eps - of, 0));
  const double constant = options.full ? 0.5 * std::log(2 * std::numbers::pi) : 0;
  return detail::reduced(0.5 * (log(limited) + square(input - target) / limited) + constant, options.reduction);
}

}  // namespace kiln::nn
